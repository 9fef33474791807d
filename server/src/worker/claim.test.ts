import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { freezeClock } from '../../test/frozen-clock.ts';
import { makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { release } from '../tasks/lease.ts';
import type { Task } from '../tasks/task.ts';
import { LEASE_SECONDS, moveNow, Superseded } from '../tasks/transitions.ts';
import { claimDue, poolOf, WORKER_POOLS, type WorkerPool } from './claim.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
const postponeAll = () =>
  sql(db, `update tasks set due_at = clock_now() + interval '1 year' where due_at is not null`);
beforeEach(async () => {
  await freezeClock(db, 0);
  await postponeAll();
});

interface Asked {
  slots?: number;
  providers?: Record<string, number>;
  accountLimit?: number;
}

function claims(pool: WorkerPool, asked: Asked = {}): Promise<Task[]> {
  const { slots = 100, providers = { scripted: slots }, accountLimit = 4 } = asked;
  return claimDue(db, pool, { slots, limits: new Map(Object.entries(providers)), accountLimit });
}

const idsOf = (tasks: Task[]) => tasks.map(({ id }) => id).sort();

/** New tasks; the first is due first. All are due already. */
async function makeTasks(
  count: number,
  changes: { providerName?: string } = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) ids.push((await makeTask(fixture, changes)).task.id);
  const due = `update tasks set due_at = clock_now() - $2 * interval '1 second' where id = $1`;
  for (const [i, id] of ids.entries()) await sql(db, due, [id, 100 - i]);
  return ids;
}

async function makeIngestTasks(count: number): Promise<string[]> {
  const ids = await makeTasks(count);
  const mode = `update tasks set request = request || '{"mode": "image-to-video"}' where id = any($1)`;
  await sql(db, mode, [ids]);
  return ids;
}

/** Gives the tasks to the account of the first of them. */
async function shareAccount(ids: string[]): Promise<void> {
  const first = '(select account_id from tasks where id = $1)';
  await sql(db, `update tasks set account_id = ${first} where id = any($2)`, [ids[0], ids]);
}

async function setPhase(id: string | undefined, phase: string, cause?: string): Promise<void> {
  await sql(db, 'update tasks set phase = $2, held_cause = $3 where id = $1', [id, phase, cause]);
}

test('each pool claims its own tasks', async () => {
  const expected: Record<WorkerPool, string[]> = {
    submit: await makeTasks(2),
    poll: await makeTasks(2),
    find: await makeTasks(1),
    archive: await makeTasks(1),
    ingest: await makeIngestTasks(1),
  };
  await setPhase(expected.submit[1], 'submitting');
  await setPhase(expected.poll[0], 'generating');
  await setPhase(expected.poll[1], 'held', 'outcome');
  await setPhase(expected.find[0], 'held', 'acceptance');
  await setPhase(expected.archive[0], 'archiving');
  for (const pool of WORKER_POOLS) {
    const claimed = await claims(pool);
    assert.deepEqual(idsOf(claimed), [...expected[pool]].sort(), pool);
    for (const task of claimed) assert.equal(poolOf(task), pool);
    assert.deepEqual(await claims(pool), [], `${pool}: they are leased`);
  }
});

test('a claim leases as many tasks as it has slots, longest due first', async () => {
  const ids = await makeTasks(5);
  assert.deepEqual(idsOf(await claims('submit', { slots: 2 })), ids.slice(0, 2).sort());
  assert.deepEqual(idsOf(await claims('submit', { slots: 0 })), []);
  assert.deepEqual(idsOf(await claims('submit', { slots: 9 })), ids.slice(2).sort());
});

test('workers that claim at once get different tasks, and together all of them', async () => {
  const ids = await makeTasks(30);
  const claiming = Array.from({ length: 6 }, () => claims('submit', { slots: 5 }));
  const claimed = await Promise.all(claiming);
  assert.deepEqual(idsOf(claimed.flat()), ids.sort());
  assert.ok(claimed.flat().every(({ lease }) => lease === 1));
});

test('a claim passes over tasks that another claim has locked', async () => {
  const ids = await makeTasks(2);
  const gone = await db.transaction(async (tx) => {
    const limits = new Map([['scripted', 1]]);
    const first = await claimDue(tx, 'submit', { slots: 1, limits, accountLimit: 4 });
    // The first claim has not committed; a wait for it would end with a failure after 3 seconds.
    return [...first, ...(await claims('submit'))];
  });
  assert.deepEqual(idsOf(gone), ids.sort());
});

test('a claim takes over an expired lease, and refuses the moves of the former worker', async () => {
  await makeTasks(1);
  const [first] = await claims('submit');
  await freezeClock(db, LEASE_SECONDS);
  assert.deepEqual(await claims('submit'), []);
  await freezeClock(db, LEASE_SECONDS + 0.001);
  const [second] = await claims('submit');
  assert.ok(first && second);
  assert.equal(second.lease, first.lease + 1);
  await assert.rejects(moveNow(db, first, { to: 'submitting' }), Superseded);
  assert.equal((await moveNow(db, second, { to: 'submitting' })).phase, 'submitting');
});

test('only tasks of the given providers are claimed, at most so many of each', async () => {
  const mine = await makeTasks(3);
  const other = await makeTasks(3, { providerName: 'other' });
  await makeTasks(1, { providerName: 'elsewhere' });
  const claimed = await claims('submit', { providers: { scripted: 2, other: 1 } });
  assert.deepEqual(idsOf(claimed), [...mine.slice(0, 2), ...other.slice(0, 1)].sort());
  assert.deepEqual(await claims('submit', { providers: {} }), []);
});

test('a task whose sender died is claimed by the pool of finds', async () => {
  const [id] = await makeTasks(1);
  await setPhase(id, 'submitting');
  const insert = `insert into attempts (id, task_id, provider, send_before)
    values ('att_left', $1, 'scripted', clock_now())`;
  await sql(db, insert, [id]);
  assert.deepEqual(await claims('submit'), []);
  assert.deepEqual(idsOf(await claims('find')), [id]);
});

test('an account fetches the files of as many tasks as its limit says, and the others wait', async () => {
  const mine = await makeIngestTasks(7);
  await shareAccount(mine);
  const [stranger] = await makeIngestTasks(1);
  const claimed = await claims('ingest');
  assert.deepEqual(idsOf(claimed), [...mine.slice(0, 4), stranger].sort());
  assert.deepEqual(await claims('ingest'), []);
  await setPhase(mine[0], 'submitting');
  assert.deepEqual(idsOf(await claims('ingest')), [mine[4]]);
  assert.deepEqual(idsOf(await claims('ingest', { accountLimit: 6 })), mine.slice(5, 7).sort());
});

test('when many workers claim at once, an account never fetches more than its limit', async () => {
  for (let round = 0; round < 10; round += 1) {
    const mine = await makeIngestTasks(9);
    await shareAccount(mine);
    const claiming = Array.from({ length: 10 }, () => claims('ingest', { slots: 1 }));
    const count = (await Promise.all(claiming)).flat().length;
    assert.ok(count <= 4, `${count} tasks were claimed`);
    const rest = await claims('ingest');
    assert.equal(count + rest.length, 4);
    await postponeAll();
  }
});

test('tasks to ingest are taken from each account in turn', async () => {
  const busy = await makeIngestTasks(6);
  await shareAccount(busy);
  const others = await makeIngestTasks(2);
  const claimed = await claims('ingest', { slots: 4, accountLimit: 6 });
  assert.deepEqual(idsOf(claimed), [...busy.slice(0, 2), ...others].sort());
  for (const task of claimed) await release(db, task);
});
