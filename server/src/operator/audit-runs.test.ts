import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { openTaskFixture, sql } from '../../test/task-fixtures.ts';
import type { Database } from '../database/database.ts';
import { listActions } from './actions.ts';
import { listAudits, startAudit } from './audit-runs.ts';

const ACTION = { command: 'audit', actor: 'ada@example.com', reason: 'after the restore' };

const fixture = await openTaskFixture();
const { db } = fixture;

function start() {
  return startAudit({ db, log: quiet }, ACTION);
}

test('of audits started at once, only one runs, and its result is kept', async () => {
  const begun = Promise.withResolvers<void>();
  const waiting: Database = {
    ...db,
    snapshot: (work) => begun.promise.then(() => db.snapshot(work)),
  };
  const started = await Promise.all(
    Array.from({ length: 3 }, () => startAudit({ db: waiting, log: quiet }, ACTION)),
  );
  begun.resolve();
  assert.equal(started.filter(({ changed }) => changed).length, 1);
  await Promise.all(started.map(({ ended }) => ended));
  const [run, ...others] = await listAudits(db, 10);
  assert.deepEqual(others, []);
  assert.deepEqual([run?.actor, run?.found, run?.problems], ['ada@example.com', 0, []]);
  assert.ok(run?.ended_at);
  const [action] = await listActions(db, { target: 'audit', limit: 1 });
  assert.deepEqual([action?.actor, action?.reason], ['ada@example.com', 'after the restore']);
});

test('an audit whose process has died does not keep the next one from running', async () => {
  const insert = `insert into audit_runs (actor, started_at, seen_at)
    values ('x', clock_now(), clock_now() - interval '2 minutes')`;
  await sql(db, insert);
  const { changed, ended } = await start();
  await ended;
  assert.equal(changed, true);
  const [, died] = await listAudits(db, 2);
  assert.equal(died?.failure, 'its process has ended');
});

test('an audit that fails says why', async () => {
  const failing = { ...db, snapshot: async () => Promise.reject(new Error('no snapshot')) };
  await (await startAudit({ db: failing, log: quiet }, ACTION)).ended;
  const [run] = await listAudits(db, 1);
  assert.deepEqual([run?.found, run?.failure], [null, 'no snapshot']);
});
