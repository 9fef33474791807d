import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createKey } from '../../src/accounts/api-keys.ts';
import { audit } from '../../src/operator/audit.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { sendTest } from '../../src/webhooks/log.ts';
import { type ApiResponse, client, send } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { startWebhookReceiver } from '../service/webhook-receiver.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const TASKS = 10;
const BODY = {
  prompt: 'Two doors, test-slow',
  model: 'video-2.0-mini',
  duration: 4,
  resolution: '480p',
};
/** Workers pass cancels on every two seconds; the jobs end between now and then. */
const END_MS = 200;
const PHASE = 'select phase from tasks where id = $1';
const END_JOB = `update local_jobs set ends_at = clock_now()
  where id = (select id from attempts where task_id = $1)`;
const TEST_CREDITS = 100_000;

/** Called with each POST before its response. */
let onPost: () => Promise<unknown> = async () => {};

const [database, folder] = await Promise.all([createTestDatabase(), temporaryFolder()]);
const receiver = await startWebhookReceiver((response) =>
  onPost().then(() => response.writeHead(204).end()),
);
const env = {
  DATABASE_URL: database.url,
  DATA_DIR: folder.path,
  OUTBOUND_ALLOW: receiver.host,
  CREATE_WAIT_SECONDS: '0',
  POLL_MIN_SECONDS: '0.05',
  POLL_MAX_SECONDS: '0.1',
};
/** Two processes with all roles, on one database. */
const twins = await Promise.all([startServiceProcess(env), startServiceProcess(env)]);
const { accountId } = await makeCustomer(database.db, 0);
await createKey(database.db, { accountId, mode: 'test' }); // opens the test balance
after(async () => {
  await Promise.all(twins.map((twin) => twin.kill('SIGKILL')));
  await receiver.close();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

/** A new API key, so that no rate window gets full. */
async function testKey(): Promise<string> {
  return (await createKey(database.db, { accountId, mode: 'test' })).secret;
}

async function openEndpoint(): Promise<{ id: string; owner: Parameters<typeof sendTest>[1] }> {
  const owner = { accountId, mode: 'test', by: 'a test' } as const;
  const choice = { url: receiver.url, description: null };
  const events = ['task.completed', 'task.failed'] as const;
  const { id } = await createEndpoint(database.db, owner, { ...choice, events: [...events] });
  return { id, owner };
}

function cancel(url: string, secret: string, id: string): Promise<ApiResponse> {
  const headers = { authorization: `Bearer ${secret}` };
  return send(`${url}/api/v1/tasks/${id}/cancel`, { method: 'POST', headers });
}

/** Cancels a task in both processes, and ends its job after some time, if it shall end. */
async function cancelTwice(endMs: number | null) {
  const secret = await testKey();
  const { body } = await client(twins[0].url, secret).create(BODY);
  const phase = () => sql<{ phase: string }>(database.db, PHASE, [body.id]);
  await until(phase, ([task]) => task?.phase === 'generating');
  const ended = endMs !== null && delay(endMs).then(() => sql(database.db, END_JOB, [body.id]));
  const said = await Promise.all(twins.map(({ url }) => cancel(url, secret, body.id)));
  await ended;
  return { id: String(body.id), said };
}

/** What the client of a cancel may be told about a task that ended so. */
function assertSaid({ status, body }: ApiResponse, phase: string): void {
  if (status === 409) assert.equal(body.error.details.task.status, phase);
  else if (body.cancel === 'cancelled') assert.equal(phase, 'failed');
  else if (body.cancel === 'refused') assert.equal(phase, 'completed');
  else assert.equal(body.cancel, 'pending', JSON.stringify(body));
}

test('two cancels at once beside the end of the job settle a task once', async (t) => {
  const { id: endpointId } = await openEndpoint();
  const ends = Array.from({ length: TASKS }, (_, i) => (i < TASKS - 2 ? i * END_MS : null));
  const cancelled = await Promise.all(ends.map(cancelTwice));
  const tasks = await until(
    () =>
      sql<{ id: string; phase: string; events: number; settled: number }>(
        database.db,
        `select t.id, t.phase,
           (select count(*)::int from webhook_deliveries d where d.task_id = t.id) as events,
           (select count(*)::int from ledger_transfers r
            where r.reference = 'settle:' || t.id || ':test') as settled
         from tasks t where t.account_id = $1`,
        [accountId],
      ),
    (all) => all.every(({ phase }) => phase === 'completed' || phase === 'failed'),
  );
  for (const { id, phase, events, settled } of tasks) {
    assert.deepEqual([events, settled], [1, 1], id);
    const { said } = cancelled.find((one) => one.id === id) ?? assert.fail(id);
    for (const response of said) assertSaid(response, phase);
  }
  const completed = tasks.filter(({ phase }) => phase === 'completed').length;
  assert.ok(completed < TASKS, 'those whose job does not end are cancelled');
  t.diagnostic(`${completed} of ${TASKS} were completed before their cancel`);
  const [balance] = await sql<{ available: number; reserved: number; spent: number }>(
    database.db,
    `select available::int, reserved::int, spent::int from ledger_balances
     where account_id = $1 and kind = 'test'`,
    [accountId],
  );
  assert.deepEqual(balance, {
    available: TEST_CREDITS - completed * 60,
    reserved: 0,
    spent: completed * 60,
  });
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
  const noted = () =>
    sql<{ event_id: string }>(
      database.db,
      `select event_id from webhook_deliveries where endpoint_id = $1 and state = 'delivered'`,
      [endpointId],
    );
  const delivered = await until(noted, (rows) => rows.length === TASKS);
  const arrived = receiver.received.map(({ id }) => id).sort();
  assert.deepEqual(arrived, delivered.map(({ event_id: id }) => id).sort(), 'each came once');
});

test('an event whose lease ends while it is sent comes twice and is noted once', async () => {
  const { id, owner } = await openEndpoint();
  const posted = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let posts = 0;
  onPost = async () => {
    posts += 1;
    posted.resolve();
    if (posts === 1) await held.promise;
  };
  const eventId = await sendTest(database.db, owner, id);
  await posted.promise;
  await database.setClock(31);
  await until(
    async () => posts,
    (count) => count === 2,
  );
  const log = () =>
    sql<{ state: string; attempts: number; tries: number }>(
      database.db,
      `select state, attempts, (select count(*)::int from webhook_attempts
         where delivery_id = d.id) as tries
       from webhook_deliveries d where event_id = $1`,
      [eventId],
    );
  const once = [{ state: 'delivered', attempts: 1, tries: 1 }];
  assert.deepEqual(await until(log, ([row]) => row?.state === 'delivered'), once);
  held.resolve();
  await until(
    () =>
      sql<{ busy: boolean }>(
        database.db,
        'select leased_until is not null as busy from webhook_endpoints where id = $1',
        [id],
      ),
    ([row]) => row?.busy === false,
  );
  assert.deepEqual(await log(), once);
  assert.deepEqual(
    new Set(receiver.received.slice(-2).map((event) => event.id)),
    new Set([eventId]),
  );
});
