import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { quiet } from '../../../test/database.ts';
import { makeTask, openTaskFixture, sql, type TaskFixture } from '../../../test/task-fixtures.ts';
import { openDatabase } from '../../database/database.ts';
import { createWaiting, isBeforeAcceptance } from './waiting.ts';

let fixture: TaskFixture;

before(async () => {
  fixture = await openTaskFixture();
});
after(() => fixture.close());

function setPhase(taskId: string, phase: string): Promise<unknown[]> {
  const cause = phase === 'held' ? 'acceptance' : null;
  return sql(fixture.db, 'update tasks set phase = $2, held_cause = $3 where id = $1', [
    taskId,
    phase,
    cause,
  ]);
}

const PATIENCE_SECONDS = 60;

test('a wait ends when the task leaves the phases before acceptance, and returns the task', async () => {
  const waiting = createWaiting({ db: fixture.db, log: quiet });
  for (const phase of ['generating', 'archiving', 'held']) {
    const { task } = await makeTask(fixture);
    const outcome = waiting.outcome(task.id, PATIENCE_SECONDS);
    await setPhase(task.id, 'ingesting');
    await setPhase(task.id, 'submitting');
    await setPhase(task.id, phase);
    assert.equal((await outcome)?.phase, phase);
  }
});

test('a wait ends with undefined when its time is over; a wait of 0 ends at once', async () => {
  const waiting = createWaiting({ db: fixture.db, log: quiet });
  const { task } = await makeTask(fixture);
  assert.equal(await waiting.outcome(task.id, 0.05), undefined);
  assert.equal(await waiting.outcome(task.id, 0), undefined);
  await setPhase(task.id, 'generating');
  assert.equal((await waiting.outcome(task.id, PATIENCE_SECONDS))?.id, task.id);
});

test('stopping ends the waits under way and all later ones', async () => {
  const waiting = createWaiting({ db: fixture.db, log: quiet });
  const { task } = await makeTask(fixture);
  const underWay = waiting.outcome(task.id, PATIENCE_SECONDS);
  waiting.stop();
  assert.equal(await underWay, undefined);
  await setPhase(task.id, 'generating');
  assert.equal(await waiting.outcome(task.id, PATIENCE_SECONDS), undefined);
});

test('any number of waits hold no database connection', async () => {
  const narrow = openDatabase({ url: fixture.database.url, connections: 1, log: quiet });
  const waiting = createWaiting({ db: narrow, log: quiet });
  const made = await Promise.all(Array.from({ length: 20 }, () => makeTask(fixture)));
  const outcomes = made.map(({ task }) => waiting.outcome(task.id, PATIENCE_SECONDS));
  for (const { task } of made) await setPhase(task.id, 'generating');
  const ids = (await Promise.all(outcomes)).map((task) => task?.id);
  assert.deepEqual(
    ids,
    made.map(({ task }) => task.id),
  );
  await narrow.close();
});

test('a wait goes on after a failed read', async () => {
  const { task } = await makeTask(fixture);
  let failures = 2;
  const shaky = {
    ...fixture.db,
    query: (async (...args: Parameters<typeof fixture.db.query>) => {
      failures -= 1;
      if (failures >= 0) throw new Error('the connection was lost');
      return fixture.db.query(...args);
    }) as typeof fixture.db.query,
  };
  const waiting = createWaiting({ db: shaky, log: quiet });
  await setPhase(task.id, 'generating');
  assert.equal((await waiting.outcome(task.id, PATIENCE_SECONDS))?.id, task.id);
  assert.ok(failures < 0);
});

test('the phases before acceptance are those in which no provider has the task', () => {
  const phases = ['reserved', 'ingesting', 'submitting', 'generating', 'held', 'failed'] as const;
  const open = phases.filter((phase) => isBeforeAcceptance({ phase }));
  assert.deepEqual(open, ['reserved', 'ingesting', 'submitting']);
});
