import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  claimTask,
  makeHeldTask,
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  recordAccepted,
} from '../../test/task-fixtures.ts';
import { beginRecovery, endRecovery, readLineage } from '../database/lineage.ts';
import { readTask } from '../tasks/task.ts';
import { Superseded } from '../tasks/transitions.ts';
import { claimDue } from '../worker/claim.ts';
import { currentAttempt, insertAttempt } from './attempts.ts';
import { holdLostAttempts } from './lost-attempts.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

const begin = () => db.transaction((tx) => beginRecovery(tx, 'a test'));

async function recover(): Promise<string[]> {
  const lineage = await readLineage(db);
  return db.transaction(async (tx) => {
    const ids = await holdLostAttempts(tx, 'a test');
    await endRecovery(tx, lineage);
    return ids;
  });
}

test('during a recovery nothing is claimed, and no attempt begins under a lease from before', async () => {
  const { task: waiting } = await makeTask(fixture);
  const { task: leased } = await makeSubmittingTask(fixture);
  await begin();
  const claimable = { slots: 9, limits: new Map([[waiting.provider, 9]]), accountLimit: 9 };
  assert.deepEqual(await claimDue(db, 'submit', claimable), []);
  await assert.rejects(insertAttempt(db, leased, 'identity'), Superseded);
  await recover();
  const found = await claimDue(db, 'find', claimable);
  assert.deepEqual(found.map(({ id }) => id).sort(), [waiting.id, leased.id].sort());
});

test('each task that was not accepted is held with one attempt, and accepted ones go on', async () => {
  const { task: reserved } = await makeTask(fixture);
  const { task: inFlight } = await makeSubmittingTask(fixture);
  await insertAttempt(db, inFlight, 'identity');
  const before = await currentAttempt(db, inFlight.id);
  const { task: accepted } = await makeSubmittingTask(fixture);
  await recordAccepted(db, accepted.id);
  await begin();
  const { task: created } = await makeTask(fixture);
  const held = await recover();
  assert.deepEqual(held.sort(), [reserved.id, inFlight.id].sort());
  for (const id of held) {
    const { phase, held_cause: cause } = await readTask(db, id);
    assert.deepEqual([phase, cause], ['held', 'acceptance']);
  }
  const attempt = await currentAttempt(db, inFlight.id);
  assert.equal(attempt?.id, before?.id);
  assert.equal(attempt?.provider_identity, null, 'an attempt in flight loses its identity');
  assert.equal((await currentAttempt(db, reserved.id))?.provider_identity, null);
  assert.notEqual((await readTask(db, accepted.id)).phase, 'held');
  assert.equal((await claimTask(db, created.id)).phase, 'reserved', 'no attempt can have begun');
});

test('a task that was held before keeps its attempt', async () => {
  const { held: task } = await makeHeldTask(fixture);
  const before = await currentAttempt(db, task.id);
  await begin();
  assert.ok(!(await recover()).includes(task.id));
  const { id, provider_identity: identity } = (await currentAttempt(db, task.id)) ?? {};
  assert.deepEqual([id, identity], [before?.id, before?.provider_identity]);
});
