import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freezeClock } from '../../test/frozen-clock.ts';
import { makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { openOverview } from '../operator/overview.ts';
import { readTaskMinutes } from './task-minutes.ts';

const fixture = await openTaskFixture();
const { db } = fixture;

/** A task, in minutes before now. */
interface Past {
  created: number;
  phase: 'completed' | 'failed' | 'generating';
  ended?: number;
  surface?: 'api' | 'test';
}

async function make({ created, phase, ended, surface = 'api' }: Past): Promise<void> {
  const { task } = await makeTask(fixture);
  const update = `update tasks set phase = $2::text, surface = $5::text,
      provider = case $5 when 'test' then 'scripted' else provider end,
      created_at = clock_now() - $3 * interval '1 minute',
      accepted_at = clock_now() - $3 * interval '1 minute' + interval '4 seconds',
      updated_at = clock_now() - coalesce($4, 0) * interval '1 minute',
      due_at = case $2 when 'generating' then clock_now() end,
      output_object_id = case $2 when 'completed' then 'obj_1' end,
      error_code = case $2 when 'failed' then 'provider_failed' end where id = $1`;
  await sql(db, update, [task.id, phase, created, ended ?? null, surface]);
}

test('the tasks of all processes are counted by minute, for two hours, and read once a minute', async () => {
  const past: Past[] = [
    { created: 100, phase: 'completed', ended: 97 },
    { created: 150, phase: 'failed', ended: 97 },
    { created: 200, phase: 'completed', ended: 190 },
    { created: 20, phase: 'generating' },
    { created: 20, phase: 'failed', ended: 19, surface: 'test' },
  ];
  await freezeClock(db, 0);
  const overview = openOverview(db);
  for (const one of past) await make(one);
  const minutes = await overview.minutes();
  assert.equal(minutes.length, 121);
  const begin = (minutes.at(-1)?.at ?? 0) / 60;
  const eventful = minutes.filter((row) => row.created + row.completed + row.failed > 0);
  assert.deepEqual(
    eventful.map(({ at, ...counts }) => ({ ago: begin - at / 60, ...counts })),
    [
      { ago: 100, created: 1, completed: 0, failed: 0, live: 2, ...times([4, 4], [null, null]) },
      { ago: 97, created: 0, completed: 1, failed: 1, live: 0, ...times([null, null], [180, 180]) },
      { ago: 20, created: 1, completed: 0, failed: 0, live: 1, ...times([4, 4], [null, null]) },
    ],
  );
  await make({ created: 1, phase: 'generating' });
  assert.equal(await overview.minutes(), minutes);
  assert.equal((await readTaskMinutes(db)).at(-1)?.live, 2);
});

type Pair = [number | null, number | null];

function times([accepted_p50, accepted_p95]: Pair, [completed_p50, completed_p95]: Pair) {
  return { accepted_p50, accepted_p95, completed_p50, completed_p95 };
}
