import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { claim, claimTask, makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { forgetFutureRequests } from '../accounts/admission.ts';
import { LEASE_SECONDS, postpone } from '../tasks/transitions.ts';
import { repairClockJump } from './clock-jump.ts';

const HOUR = 3600;

const fixture = await openTaskFixture();
const { db } = fixture;
after(() => fixture.close());

const repair = () => repairClockJump({ db, log: quiet, forgetFuture: forgetFutureRequests });

test('after the database’s clock is set back an hour, due work is done at once', async () => {
  await freezeClock(db, 10 * HOUR);
  await repair();
  const { task } = await makeTask(fixture);
  const postponed = await claimTask(db, task.id);
  await postpone(db, postponed, { seconds: 30 });
  await freezeClock(db, 9 * HOUR);
  assert.equal(await claim(db, task.id), undefined, 'its time is an hour ahead');
  assert.equal(await repair(), HOUR);
  assert.equal((await claim(db, task.id))?.id, task.id);
  assert.equal(await repair(), 0, 'a jump is repaired once');
});

test('the lease of a dead worker ends as soon as it would have', async () => {
  await freezeClock(db, 20 * HOUR);
  await repair();
  const { task } = await makeTask(fixture);
  await claimTask(db, task.id);
  await freezeClock(db, 19 * HOUR);
  await repair();
  assert.equal(await claim(db, task.id), undefined, 'its worker may live, and renew it');
  await freezeClock(db, 19 * HOUR + LEASE_SECONDS + 1);
  assert.equal((await claim(db, task.id))?.id, task.id);
});

test('requests in the future do not fill the rate window of a key', async () => {
  await freezeClock(db, 30 * HOUR);
  await repair();
  const hits = () => sql(db, 'select hits from request_windows where subject = $1', ['key_jump']);
  await sql(db, 'insert into accounts (id, email) values ($1, $1)', ['acct_jump']);
  await sql(
    db,
    `insert into api_keys (id, account_id, secret_hash) values ('key_jump', 'acct_jump', 'x')`,
  );
  await sql(
    db,
    `insert into request_windows (subject, hits) values ('key_jump', array[clock_now()])`,
  );
  await freezeClock(db, 29 * HOUR);
  await repair();
  assert.deepEqual(await hits(), [{ hits: [] }]);
});

test('a clock that goes on, or is corrected by a few seconds, changes nothing', async () => {
  await freezeClock(db, 40 * HOUR);
  await repair();
  const { task } = await makeTask(fixture);
  await postpone(db, await claimTask(db, task.id), { seconds: 30 });
  await freezeClock(db, 40 * HOUR - 4);
  assert.equal(await repair(), 0);
  await freezeClock(db, 40 * HOUR + 1);
  assert.equal(await repair(), 0);
  assert.equal(await claim(db, task.id), undefined);
});
