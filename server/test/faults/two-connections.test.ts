import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { audit } from '../../src/operator/audit.ts';
import { type Client, client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';
import { openTwoAccounts } from './two-accounts.ts';

const CREDITS = 1_000_000;
const CREATES = 18;
/** Every third response of a submit is lost. */
const LOST_EACH = 3;

/** A service with a route over two simulated providers: `ark` first, then `second`. */
async function openTwoConnections(cleanup: AsyncDisposableStack) {
  const { env, withSecond, db, ...accounts } = await openTwoAccounts(cleanup);
  const service = cleanup.use(await startServiceProcess({ ...env, ...withSecond }));
  const steps = JSON.stringify([{ connection: 'ark' }, { connection: 'second' }]);
  const text = `insert into routes (model, choice, steps) values ($1, 'order', $2::jsonb)`;
  await sql(db, text, [SMALLEST.model, steps]);
  return {
    ...accounts,
    db,
    /** One for each phase of the test, because of the rate limit. */
    customer: async () => client(service.url, (await makeCustomer(db, CREDITS)).secret),
    /** How many attempts at the first connection ended so. */
    async attempts(state: string) {
      const count = `select count(*)::int as n from attempts where provider = 'ark' and state = $1`;
      return (await sql<{ n: number }>(db, count, [state]))[0]?.n ?? 0;
    },
  };
}

const cleanup = new AsyncDisposableStack(); // the last first
after(() => cleanup.disposeAsync());
const two = await openTwoConnections(cleanup);
const { db, second } = two;
let { first } = two;
cleanup.defer(() => first.kill());

test('while one of two connections is down, busy or loses responses, no create is refused, no task lost or made twice', async (t) => {
  await first.kill();
  const earlier = await two.customer();
  await until(async () => (await create(earlier, 'the route is known')).status === 202);
  assert.deepEqual(await createMany(await two.customer(), 'down'), { 202: CREATES });
  assert.ok((await two.attempts('not_sent')) > 0, 'some tasks moved on');
  first = await two.restartFirst();

  await first.plan({ faults: [{ kind: 'refuse', status: 429 }], times: 1000 });
  await reopen();
  assert.deepEqual(await createMany(await two.customer(), 'busy'), { 202: CREATES });
  assert.ok((await two.attempts('rejected')) > 0, 'some tasks moved on');
  await first.clearPlans();

  await reopen();
  await first.plan({ faults: [{ kind: 'drop_after_accepting' }], match: 'is lost', times: 1000 });
  const promptOf = (i: number) => `its response ${i % LOST_EACH === 0 ? 'is lost' : 'arrives'}`;
  const statuses = await createMany(await two.customer(), 'lossy', promptOf);
  const { 202: accepted = 0, 503: held = 0 } = statuses;
  t.diagnostic(`of creates with lost responses, ${accepted} were accepted and ${held} held`);
  assert.equal(accepted + held, CREATES);

  const ended = await until(
    () => sql<{ phase: string; error_code: string | null }>(db, 'select * from tasks'),
    (all) => all.every(({ phase }) => phase === 'completed' || phase === 'failed'),
  );
  const completed = ended.filter(({ phase }) => phase === 'completed');
  // Before the route was known, a create was refused with its refund.
  const failed = ended.filter(({ phase }) => phase === 'failed');
  assert.ok(failed.every(({ error_code: code }) => code === 'not_accepted'));
  assert.ok(completed.length > 3 * CREATES, 'all others were completed');
  const jobs = [...(await first.jobs()), ...(await second.jobs())];
  assert.equal(jobs.length, completed.length, 'one job for each task');
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
});

/** Ends the wait after an outage, so that the connection is tried at once. */
async function reopen(): Promise<void> {
  await sql(db, 'delete from provider_outages');
}

function create(customer: Client, prompt: string) {
  return customer.create({ ...SMALLEST, prompt: `A lighthouse, ${prompt}` });
}

/** How many of {@link CREATES} concurrent creates got each status. */
async function createMany(
  customer: Client,
  phase: string,
  promptOf: (index: number) => string = String,
): Promise<Record<number, number>> {
  const responses = await Promise.all(
    Array.from({ length: CREATES }, (_, i) => create(customer, `${phase}, ${promptOf(i)}`)),
  );
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
