import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../../server/src/database/database.ts';
import { client } from '../../server/test/client.ts';
import { type FundedKey, makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import { withInstantProvider } from '../instant-provider.ts';
import { quantile } from '../sample.ts';

export const WAITING_EVENTS = 100_000;
const ROUNDS = 2;
const ROUND_SECONDS = 10;
const CREATE_SECONDS = 0.25;
const SETTLE_SECONDS = 3;
/** How long the slow endpoints take for a response; the dead ones send none. */
const SLOW_SECONDS = 5;
const CUSTOMERS = 20;
const ENDPOINTS_EACH = 4;
const KEY_COUNTS = { accounts: 20, keysEach: 20 };
const REQUEST = {
  prompt: 'A lighthouse',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
};

/** Milliseconds from the create of a task to its end. */
interface TaskTimes {
  p50Milliseconds: number;
  p99Milliseconds: number;
}

/** Tasks while a worker delivers waiting events, and while no endpoint is enabled. */
export interface BesideWebhooks {
  beside: TaskTimes;
  alone: TaskTimes;
  deliveredPerSecond: number;
}

const ENDPOINTS = statement(
  'bench_endpoints',
  `insert into webhook_endpoints (id, account_id, url, events, secret, disabled_at)
   select 'we_' || n, account_id, $1 || (array['quick', 'slow', 'dead'])[1 + n % 3],
     array['credits.low'], 'whsec_AAAA', clock_now()
   from unnest($2::text[]) with ordinality as made (account_id, n)`,
);
const EVENTS = statement(
  'bench_events',
  `insert into webhook_deliveries (event_id, endpoint_id, type, data)
   select 'evt_' || n, 'we_' || (1 + n % $1::int), 'credits.low', '{}'
   from generate_series(1, $2::int) n`,
);
const SWITCH = statement(
  'bench_endpoints_switch',
  'update webhook_endpoints set disabled_at = case when $1 then null else clock_now() end',
);
const DELIVERED = statement(
  'bench_events_delivered',
  `select count(*)::int as count from webhook_deliveries where state = 'delivered'`,
);
const TIMES = statement(
  'bench_task_times',
  `select phase, extract(epoch from updated_at - created_at)::float8 * 1000 as ms
   from tasks where id = any($1)`,
);

/** Loads the service in turns: with all endpoints disabled, and with all enabled. */
export async function measureWebhooks(): Promise<BesideWebhooks> {
  const receiver = await startReceiver();
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  try {
    return await withInstantProvider(({ env }) =>
      measureBeside(host, { ...env, OUTBOUND_ALLOW: host }),
    );
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
}

async function startReceiver(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/dead') return;
    const seconds = request.url === '/slow' ? SLOW_SECONDS : 0;
    setTimeout(() => response.writeHead(204).end(), seconds * 1000);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

async function measureBeside(host: string, env: Record<string, string>): Promise<BesideWebhooks> {
  await using bench = await openBenchSetup();
  const { db } = bench;
  const keys = await makeFundedKeys(db, KEY_COUNTS);
  const others = await makeFundedKeys(db, { accounts: CUSTOMERS, keysEach: ENDPOINTS_EACH });
  await db.query(ENDPOINTS, [`http://${host}/`, others.map(({ accountId }) => accountId)]);
  await db.query(EVENTS, [others.length, WAITING_EVENTS]);
  await using service = await bench.startService(env);
  const times = { alone: [] as number[], beside: [] as number[] };
  await runTasks(db, service.url, keys); // the first decode of a process takes longer
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of ['alone', 'beside'] as const) {
      await db.query(SWITCH, [side === 'beside']);
      await delay(SETTLE_SECONDS * 1000);
      times[side].push(...(await runTasks(db, service.url, keys)));
    }
  }
  const [delivered] = await db.query<{ count: number }>(DELIVERED);
  const seconds = ROUNDS * (ROUND_SECONDS + SETTLE_SECONDS);
  return {
    beside: summary(times.beside),
    alone: summary(times.alone),
    deliveredPerSecond: (delivered?.count ?? 0) / seconds,
  };
}

function summary(times: number[]): TaskTimes {
  return { p50Milliseconds: quantile(times, 0.5), p99Milliseconds: quantile(times, 0.99) };
}

/** Creates tasks at a steady rate. @returns the milliseconds that each took */
async function runTasks(db: Database, url: string, keys: FundedKey[]): Promise<number[]> {
  const ids: Promise<string>[] = [];
  for (const end = performance.now() + ROUND_SECONDS * 1000; performance.now() < end; ) {
    const key = keys[Math.floor(Math.random() * keys.length)];
    ids.push(createTask(url, key?.secret ?? ''));
    await delay(CREATE_SECONDS * 1000);
  }
  const created = await Promise.all(ids);
  for (;;) {
    const tasks = await db.query<{ phase: string; ms: number }>(TIMES, [created]);
    const completed = tasks.filter(({ phase }) => phase === 'completed');
    if (completed.length === created.length) return completed.map(({ ms }) => ms);
    await delay(SETTLE_SECONDS * 100);
  }
}

async function createTask(url: string, secret: string): Promise<string> {
  const { status, body } = await client(url, secret).create(REQUEST);
  if (status !== 202) throw new Error(`a create got ${status}: ${JSON.stringify(body)}`);
  return body.id;
}
