import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  makeSubmittingTask,
  openTaskFixture,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../../test/task-fixtures.ts';
import type { SubmitOutcome } from '../../providers/provider.ts';
import { submitTask } from '../../worker/submit.ts';
import { recentAttempts } from './recent-attempts.ts';

const fixture = await openTaskFixture();
const { db } = fixture;

async function submitted(provider: string, outcome: SubmitOutcome): Promise<string> {
  const { task } = await makeSubmittingTask(fixture);
  await sql(db, 'update tasks set provider = $2 where id = $1', [task.id, provider]);
  const scripted = scriptedProvider({ submit: async () => outcome });
  await submitTask(submitDeps(fixture, scripted), { ...task, provider });
  return task.id;
}

test('the attempts of the last day are counted by connection and outcome', async () => {
  const outcomes: SubmitOutcome[] = [
    { kind: 'accepted', jobId: 'job-1' },
    { kind: 'accepted', jobId: 'job-2' },
    { kind: 'rejected', fault: 'busy', cause: 'HTTP 429' },
    { kind: 'rejected', fault: 'operator', cause: 'HTTP 401' },
    { kind: 'unknown', cause: 'no response' },
    { kind: 'rejected', fault: 'request', code: 'content_refused', message: 'Refused.' },
  ];
  const ids: string[] = [];
  for (const outcome of outcomes) ids.push(await submitted('fal', outcome));
  await submitted('ark', { kind: 'rejected', fault: 'busy', cause: 'HTTP 429' });
  const old = await submitted('replicate', { kind: 'accepted', jobId: 'job-3' });
  const older = `update tasks set created_at = clock_now() - interval '25 hours' where id = $1`;
  await sql(db, older, [old]);
  const update = `update tasks set phase = 'failed', due_at = null, held_cause = null,
      error_code = 'provider_failed', error_message = 'It failed.' where id = $1`;
  await sql(db, update, [ids[0]]);
  const change = `update tasks set phase = 'completed', due_at = null, held_cause = null,
      output_object_id = 'obj_1',
      updated_at = (select outcome_at from attempts where task_id = $1) + interval '3 minutes'
    where id = $1`;
  await sql(db, change, [ids[1]]);
  assert.deepEqual(await recentAttempts(db), [
    { provider: 'ark', accepted: 0, busy: 1, refused: 0, uncertain: 0, failed: 0, medians: [] },
    {
      provider: 'fal',
      accepted: 2,
      busy: 1,
      refused: 1,
      uncertain: 1,
      failed: 1,
      medians: [{ model: 'video-2.0-fast', seconds: 180 }],
    },
  ]);
});
