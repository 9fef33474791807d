import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { audit } from '../../src/operator/audit.ts';
import { showTask } from '../../src/operator/listings/task-records.ts';
import { client, SMALLEST, send } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import {
  runOperatorCommand,
  type ServiceProcess,
  startServiceProcess,
} from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';
import { openTwoAccounts } from './two-accounts.ts';

// Two processes with both roles on one database, each with an API of its own.
const cleanup = new AsyncDisposableStack(); // the last first
after(() => cleanup.disposeAsync());
const { db, env, withSecond, ...accounts } = await openTwoAccounts(cleanup);
const ark = cleanup.adopt(accounts.first, (one) => one.kill());
const { second } = accounts;
const common = { ...env, CREATE_WAIT_SECONDS: '0', ARK_SUBMITS_PER_MINUTE: '60000' };
const start = async (own = {}) => cleanup.use(await startServiceProcess({ ...common, ...own }));
/** Does not know `second` at first. */
let older = await start();
let newer = await start(withSecond);

const both = <Result>(ask: (service: ServiceProcess) => Promise<Result>) =>
  Promise.all([older, newer].map(ask));

const command = (...args: string[]) => runOperatorCommand(env, ...args, '--reason', 'a test');

/** Creates as a new customer, whom no rate limit concerns. */
async function create(service: ServiceProcess, changes: object) {
  const { secret } = await makeCustomer(db, 1000);
  const created = await client(service.url, secret).create({ ...SMALLEST, ...changes });
  return { ...created, id: String(created.body.id), secret };
}

/** The connection and the phase of a task. */
async function placeOf({ id }: { id: string }): Promise<string> {
  const text = `select provider || ' ' || phase as place from tasks where id = $1`;
  const [row] = await sql<{ place: string }>(db, text, [id]);
  return row?.place ?? 'none';
}

const untilAt = (task: { id: string }, place: string) =>
  until(
    () => placeOf(task),
    (now) => now === place,
    100, // a connection counts as unserved after a minute
  );

test('tasks of a connection that one process has are left to it by the other', async () => {
  const alone = { model: SMALLEST.model };
  const routed = { model: 'video-2.0-fast' };
  await command('routes', 'set', alone.model, 'second');
  await command('routes', 'set', routed.model, 'second; ark');
  const isAtSecond = async () => (await placeOf(await create(newer, routed))).startsWith('second');
  await until(isAtSecond);
  const { body } = await until(
    () => create(older, alone),
    ({ status }) => status === 400,
  );
  assert.equal(body.error.details.reason, 'not_offered');

  const lose = [{ kind: 'drop_after_accepting' }, { kind: 'callback_missing' }] as const;
  await second.plan({ match: 'runs', faults: [{ kind: 'never_ends' }] });
  await second.plan({ match: 'is lost', faults: [...lose, { kind: 'list_lag', seconds: 3600 }] });
  await second.plan({ match: 'waits', faults: [{ kind: 'refuse', status: 429 }], times: 1000 });
  const [runs, lost] = [
    await create(newer, { ...alone, prompt: 'A lighthouse that runs' }),
    await create(newer, { ...alone, prompt: 'A lighthouse that is lost' }),
  ];
  await Promise.all([untilAt(runs, 'second generating'), untilAt(lost, 'second held')]);
  const waits = await create(newer, { ...alone, prompt: 'A lighthouse that waits' });
  await until(async () => (await sql(db, `select from attempts where state = 'rejected'`)).length);
  const assertLeft = async () => {
    assert.equal(await placeOf(runs), 'second generating');
    assert.equal(await placeOf(lost), 'second held');
  };
  await untilAt(await create(older, routed), 'ark completed');
  assert.equal(await placeOf(waits), 'second submitting');
  await assertLeft();

  await newer.kill('SIGTERM');
  const ids = [runs, lost, waits].map(({ id }) => id);
  await assert.rejects(start(), ({ message }: Error) => {
    assert.match(message, /second has 3 live tasks .* name it in CONNECTIONS, with its variables/);
    return ids.every((id) => message.includes(id));
  });
  const rows = await runOperatorCommand(env, 'connections', 'list');
  assert.match(JSON.stringify(rows), /"second","is_running":false,.*"unserved_tasks":3}/);
  const jobs = await second.jobs();
  const jobOf = (prompt: string) =>
    jobs.find((job) => job.prompt.includes(prompt)) ?? assert.fail(`${prompt} has no job`);
  const callback = async (service: ServiceProcess) => {
    const { id, callbackUrl } = jobOf('is lost');
    const url = new URL(new URL(callbackUrl ?? '').pathname, service.url);
    return fetch(url, { method: 'POST', body: JSON.stringify({ id }) });
  };
  const refused = await callback(older);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '30']);
  await untilAt(await create(older, routed), 'ark completed');
  assert.equal(await placeOf(waits), 'second submitting');
  await command('routes', 'set', alone.model, 'second; ark');
  await untilAt(waits, 'ark completed');
  await assertLeft();

  newer = await start(withSecond);
  assert.equal((await callback(newer)).status, 200);
  await second.changeJob(jobOf('runs').id, { quirks: [] });
  await Promise.all([runs, lost].map((task) => untilAt(task, 'second completed')));
  await second.clearPlans();
  await older.kill('SIGTERM');
  older = await start(withSecond);
});

test('a model is offered, priced, routed, generated and retired while two processes run', async (t) => {
  const nova = { model: 'nova-1' };
  const models = async ({ url }: ServiceProcess) => {
    const { body } = await send(`${url}/api/v1/models`, {});
    return body.data.find(({ id }: { id: string }) => id === nova.model);
  };
  const isDescribed = async ({ url }: ServiceProcess) =>
    (await (await fetch(`${url}/openapi.json`)).text()).includes(`"${nova.model}"`);
  const seenByBoth = async (
    what: string,
    isSeen: (service: ServiceProcess) => Promise<boolean>,
  ) => {
    const startedAt = performance.now();
    await until(async () => (await both(isSeen)).every(Boolean), Boolean, 10);
    t.diagnostic(`${what}: seen by both after ${Math.round(performance.now() - startedAt)} ms`);
  };
  const refusals = async () =>
    (await both((one) => create(one, nova))).map(({ body }) => body.error);

  for (const { message } of await refusals())
    assert.match(message, /^model must be one of video-2\.0/);
  await command('models', 'set', nova.model, '--title', 'Nova', '--price', '480p=3');
  await seenByBoth('offered', async (one) => {
    const model = await models(one);
    return model?.credits_per_second.standard['480p'] === 3 && (await isDescribed(one));
  });
  for (const { details } of await refusals()) assert.equal(details.reason, 'not_offered');
  await command('routes', 'set', nova.model, 'second model=ep-nova; ark model=ep-nova');
  await seenByBoth('routed', async (one) => (await create(one, nova)).status === 202);
  const from = new Date(Date.now() + 3_600_000).toISOString();
  await command('models', 'set', nova.model, '--price', '480p=5', '--from', from);
  await seenByBoth('announced', async (one) => (await models(one)).next_price?.from === from);
  const created = await both((one) => create(one, nova));
  for (const task of created) {
    assert.deepEqual([task.status, task.body.credits_used], [202, 12]);
    await untilAt(task, 'second completed');
  }
  // A process that has not read the route yet rejects a task without sending it.
  const sent = `select distinct provider_model from attempts join tasks on tasks.id = task_id
    where request->>'model' = $1 and attempts.state <> 'rejected'`;
  assert.deepEqual(await sql(db, sent, [nova.model]), [{ provider_model: 'ep-nova' }]);

  await second.plan({ match: 'is old', faults: [{ kind: 'never_ends' }] });
  const old = await create(newer, { ...nova, prompt: 'A lighthouse that is old' });
  await untilAt(old, 'second generating');
  await command('models', 'retire', nova.model);
  await seenByBoth('retired', async (one) => !((await models(one)) || (await isDescribed(one))));
  for (const { code, message } of await refusals()) {
    assert.equal(code, 'invalid_request');
    assert.equal(message, 'model must be one of video-2.0, video-2.0-fast, video-2.0-mini.');
  }
  const job = (await second.jobs()).find(({ prompt }) => prompt.includes('is old'));
  await second.changeJob(job?.id ?? '', { quirks: [] });
  await untilAt(old, 'second completed');
  for (const { body } of await both(({ url }) => client(url, old.secret).task(old.id))) {
    assert.deepEqual([body.model, body.status], [nova.model, 'completed']);
    assert.equal((await fetch(body.output.video_url)).status, 200);
  }
});

test('a route by time begins at the connection whose jobs took less', async () => {
  const mini = { model: 'video-2.0-mini' };
  const completeAt = async (connection: string, isSlow: boolean) => {
    const simulator = connection === 'ark' ? ark : second;
    const prompt = `A lighthouse at ${connection}`;
    if (isSlow) await simulator.plan({ match: prompt, faults: [{ kind: 'never_ends' }] });
    const task = await until(async () => {
      const created = await create(newer, { ...mini, prompt });
      return (await placeOf(created)).startsWith(connection) ? created : undefined;
    });
    assert.ok(task);
    if (isSlow) {
      const old = `select from tasks where id = $1 and accepted_at < now() - interval '10 s'`;
      await until(async () => (await sql(db, old, [task.id])).length === 1);
      const job = (await simulator.jobs()).find((one) => one.prompt.includes(prompt));
      await simulator.changeJob(job?.id ?? '', { quirks: [] });
    }
    await untilAt(task, `${connection} completed`);
  };
  await command('routes', 'set', mini.model, 'second; ark');
  await completeAt('second', false);
  await command('routes', 'set', mini.model, 'ark; second');
  await completeAt('ark', true);
  await command('routes', 'set', mini.model, 'ark; second', '--choice', 'time');
  const choice = async () => {
    const { id, secret } = await create(newer, mini);
    const { body } = await client(newer.url, secret).task(id);
    assert.doesNotMatch(JSON.stringify(body), /p50|second/, 'a customer reads nothing of it');
    const { history } = await showTask(db, id);
    return history.flatMap(({ cause }) => (cause as { choice?: string } | null)?.choice ?? [])[0];
  };
  await until(choice, (reason) => /^time: p50 \d s at second$/.test(reason ?? ''));
});

test('in the end each task has one job, and the books agree', async () => {
  const accepted = `select count(*)::int as n from attempts where state = 'accepted'`;
  const waiting = `select from tasks where phase in ('reserved', 'submitting')`;
  await until(async () => (await sql(db, waiting)).length === 0);
  const [{ n } = { n: 0 }] = await sql<{ n: number }>(db, accepted);
  assert.equal((await ark.jobs()).length + (await second.jobs()).length, n);
  const tasks = await sql(db, `select from tasks where phase <> 'failed'`);
  assert.equal(tasks.length, n);
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
});
