import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  claimTask,
  makeTask,
  openTaskFixture,
  sql,
  type TaskFixture,
} from '../../test/task-fixtures.ts';
import type { Database } from '../database/database.ts';
import { claim, dueTasks, reclaimLease, release, renew } from './lease.ts';
import { LEASE_SECONDS, moveNow, postpone, Superseded } from './transitions.ts';

let fixture: TaskFixture;
let db: Database;

before(async () => {
  fixture = await openTaskFixture();
  db = fixture.db;
});
after(() => fixture.close());

test('when many workers claim a task at once, one of them gets it', async () => {
  const { task } = await makeTask(fixture);
  const claims = await Promise.all(Array.from({ length: 12 }, () => claim(db, task.id)));
  assert.equal(claims.filter((claimed) => claimed !== undefined).length, 1);
});

test('an expired lease allows another worker to claim the task and refuses the first one’s moves', async () => {
  await freezeClock(db, 0);
  const { task } = await makeTask(fixture);
  const first = await claimTask(db, task.id);
  await freezeClock(db, LEASE_SECONDS);
  assert.equal(await claim(db, task.id), undefined);
  await freezeClock(db, LEASE_SECONDS + 0.001);
  const second = await claimTask(db, task.id);
  assert.equal(second.lease, first.lease + 1);
  await assert.rejects(moveNow(db, first, { to: 'submitting' }), Superseded);
  assert.equal((await moveNow(db, second, { to: 'submitting' })).phase, 'submitting');
});

test('a lease is renewed only by the worker that still has it', async () => {
  await freezeClock(db, 0);
  const [kept, lost] = [(await makeTask(fixture)).task.id, (await makeTask(fixture)).task.id];
  const leases = new Map<string, number>();
  for (const id of [kept, lost]) leases.set(id, (await claimTask(db, id)).lease);
  leases.set(lost, 0);
  await freezeClock(db, LEASE_SECONDS - 1);
  await renew(db, leases);
  await freezeClock(db, LEASE_SECONDS + 1);
  assert.equal(await claim(db, kept), undefined);
  assert.ok(await claim(db, lost));
});

test('a released task can be claimed at once; a worker that lost the lease can’t release it', async () => {
  await freezeClock(db, 0);
  const { task } = await makeTask(fixture);
  const first = await claimTask(db, task.id);
  await release(db, { ...first, lease: first.lease - 1 });
  assert.equal(await claim(db, task.id), undefined);
  await release(db, first);
  assert.ok(await claim(db, task.id));
});

test('a postponed task can’t be claimed before it is due', async () => {
  await freezeClock(db, 0);
  const { task } = await makeTask(fixture);
  await postpone(db, await claimTask(db, task.id), { seconds: 5 });
  await freezeClock(db, 4.999);
  assert.equal(await claim(db, task.id), undefined);
  await freezeClock(db, 5);
  assert.ok(await claim(db, task.id));
});

test('a worker that lost the lease does not postpone the task', async () => {
  await freezeClock(db, 0);
  const { task } = await makeTask(fixture);
  const first = await claimTask(db, task.id);
  await freezeClock(db, LEASE_SECONDS + 1);
  const second = await claimTask(db, task.id);
  await postpone(db, first, { seconds: 1000 });
  assert.ok(await moveNow(db, second, { to: 'submitting' }));
  await release(db, second);
  assert.ok(await claim(db, task.id));
});

test('due tasks without a lease are found, each in its worker pool', async () => {
  await freezeClock(db, 0);
  await sql(
    db,
    `update tasks set due_at = clock_now() + interval '1 year' where due_at is not null`,
  );
  const made = {
    text: (await makeTask(fixture)).task.id,
    image: (await makeTask(fixture)).task.id,
    fetched: (await makeTask(fixture)).task.id,
    leased: (await makeTask(fixture)).task.id,
  };
  const mode = `update tasks set request = request || '{"mode": "image-to-video"}' where id = any($1)`;
  await sql(db, mode, [[made.image, made.fetched]]);
  await sql(db, `update tasks set phase = 'submitting' where id = $1`, [made.fetched]);
  await claimTask(db, made.leased);
  const due = new Map((await dueTasks(db)).map((task) => [task.id, task.pool]));
  assert.deepEqual(
    due,
    new Map([
      [made.text, 'task'],
      [made.fetched, 'task'],
      [made.image, 'ingest'],
    ]),
  );
});

test('an account has four downloads at a time, and its waiting tasks do not keep another account’s from being found', async () => {
  await freezeClock(db, 0);
  await sql(
    db,
    `update tasks set due_at = clock_now() + interval '1 year' where due_at is not null`,
  );
  const tasks = [];
  for (let i = 0; i < 7; i += 1) tasks.push((await makeTask(fixture)).task);
  const [first, ...others] = tasks;
  const ids = tasks.map(({ id }) => id);
  await sql(
    db,
    `update tasks set request = request || '{"mode": "image-to-video"}' where id = any($1)`,
    [ids],
  );
  const [stranger, ...own] = others;
  await sql(db, 'update tasks set account_id = $1 where id = any($2)', [
    first?.account_id,
    own.map(({ id }) => id),
  ]);
  const sooner = `update tasks set due_at = clock_now() - $2 * interval '1 second' where id = $1`;
  for (const [i, id] of ids.entries()) await sql(db, sooner, [id, 100 - i]);
  const due = async () => (await dueTasks(db)).map(({ id }) => id).sort();
  const mine = [first, ...own].flatMap((task) => task?.id ?? []);
  assert.deepEqual(await due(), [...mine.slice(0, 4), stranger?.id].sort());
  for (const id of mine.slice(0, 4)) await claimTask(db, id);
  assert.equal(await claim(db, mine[4] ?? ''), undefined);
  assert.deepEqual(await due(), [stranger?.id]);
  await sql(db, `update tasks set phase = 'submitting' where id = $1`, [mine[0]]);
  assert.deepEqual(await due(), [stranger?.id, mine[4]].sort());
  assert.ok(await claim(db, mine[4] ?? ''));
});

test('the sender of a submit reclaims the lease, unless the task no longer waits for the outcome', async () => {
  await freezeClock(db, 0);
  const { task } = await makeTask(fixture);
  const first = await moveNow(db, await claimTask(db, task.id), { to: 'submitting' });
  assert.equal(await db.transaction((tx) => reclaimLease(tx, first)), first);
  await freezeClock(db, LEASE_SECONDS + 1);
  const second = await claimTask(db, task.id);
  const back = await db.transaction((tx) => reclaimLease(tx, first));
  assert.equal(back.lease, second.lease + 1);
  await assert.rejects(moveNow(db, second, { to: 'generating' }), Superseded);
  await moveNow(db, back, { to: 'generating' });
  await assert.rejects(
    db.transaction((tx) => reclaimLease(tx, second)),
    Superseded,
  );
});
