import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { LONG } from '../long.ts';
import { type ServiceProcess, startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';

const EVENTS = LONG ? 10_000 : 120;
const KILLS = EVENTS >= 1000 ? 10 : 2;
const ENDPOINTS = 4;
const SECONDS = 60 + EVENTS / 10;

/** How often each event came, by its id. */
const arrivals = new Map<string, number>();
const succeeded = new Set<string>();
let posts = 0;

// A third of the deliveries fails, in three ways; which ones is the same in each run.
const receiver = createServer((request, response) => {
  const id = String(request.headers['webhook-id']);
  const earlier = arrivals.get(id) ?? 0;
  arrivals.set(id, earlier + 1);
  posts += 1;
  const fails = Number.parseInt(id.slice(-2), 16) % 3 === earlier % 3;
  request.resume().on('end', () => {
    if (!fails) {
      succeeded.add(id);
      response.writeHead(204).end();
    } else if (posts % 2 === 0) response.writeHead(500).end('out of order');
    else request.socket.destroy();
  });
});

const database = await createTestDatabase();
await once(receiver.listen(0, '127.0.0.1'), 'listening');
const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
after(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await database.close();
});

/** Endpoints with the events that are due to them, as the statement that moves tasks writes them. */
async function writeEvents(): Promise<string[]> {
  const { db } = database;
  const ids: string[] = [];
  for (let made = 0; made < ENDPOINTS; made += 1) {
    const { accountId } = await makeCustomer(db, 1);
    const choice = { url: `http://${host}/`, description: null, events: ['task.failed' as const] };
    const owner = { accountId, mode: 'live', by: 'a test' } as const;
    const { id } = await createEndpoint(db, owner, choice);
    const rows = await sql<{ event_id: string }>(
      db,
      `insert into webhook_deliveries (event_id, endpoint_id, type, data)
       select 'evt_' || md5($1 || n), $1, 'task.failed', '{}'
       from generate_series(1, $2::int) n returning event_id`,
      [id, EVENTS / ENDPOINTS],
    );
    ids.push(...rows.map((row) => row.event_id));
  }
  return ids;
}

/** Retries that are due much later are due at once, and no endpoint rests: this test has no hours. */
async function hurry(): Promise<void> {
  const { db } = database;
  await sql(db, 'update webhook_endpoints set paused_until = null where paused_until is not null');
  await sql(db, 'update webhook_deliveries set due_at = clock_now() where due_at > clock_now()');
}

function startWorker(): Promise<ServiceProcess> {
  const env = { DATABASE_URL: database.url, ROLES: 'worker', OUTBOUND_ALLOW: host };
  return startServiceProcess({ ...env, PUBLIC_URL: 'http://127.0.0.1:1' });
}

async function survive(t: TestContext): Promise<void> {
  const ids = await writeEvents();
  const startedAt = performance.now();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const worker = await startWorker();
    const wanted = Math.max(posts, (EVENTS * (kill + 0.5)) / KILLS);
    await until(
      async () => {
        await hurry();
        return posts;
      },
      (count) => count > wanted || succeeded.size === EVENTS,
      SECONDS,
    );
    await worker.kill('SIGKILL');
    // Its leases end after 30 seconds; this test does not wait for it.
    await sql(database.db, 'update webhook_endpoints set leased_until = null');
  }
  await using _last = await startWorker();
  const waiting = () =>
    sql(database.db, 'select from webhook_deliveries where due_at is not null limit 1');
  await until(
    async () => {
      await hurry();
      return waiting();
    },
    (rows) => rows.length === 0,
    SECONDS,
  );
  const lost = ids.filter((id) => !succeeded.has(id));
  assert.deepEqual(lost, [], 'each event has arrived');
  assert.deepEqual([...arrivals.keys()].sort(), ids.sort(), 'no other id has come');
  const failed = await sql(
    database.db,
    `select from webhook_deliveries where state <> 'delivered' limit 1`,
  );
  assert.equal(failed.length, 0);
  const [{ logged } = { logged: 0 }] = await sql<{ logged: number }>(
    database.db,
    'select count(*)::int as logged from webhook_attempts',
  );
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  t.diagnostic(
    `${ids.length} events, ${KILLS} kills, ${posts} POSTs, of which ${posts - logged} were not ` +
      `noted before a kill, ${seconds} s`,
  );
}

test('no event is lost while its worker is killed and a third of the deliveries fail', survive);
