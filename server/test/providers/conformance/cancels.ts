import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.ts';
import { newJobSpec, readEnd, submitAccepted } from './attempts.ts';
import type { Suite } from './subject.ts';

export function cancelTests(suite: Suite): void {
  const cancel = async (jobId: string) => {
    const { cancel: call } = suite.provider();
    assert.ok(call, 'it has a cancel');
    return call(jobId);
  };

  test('a job that waits is cancelled: no read shows it as working or succeeded', async () => {
    // On a slow machine a job may have left the queue before its cancel comes.
    const { jobId } = await until(
      async () => {
        const submitted = await submitAccepted(suite, newJobSpec());
        return { jobId: submitted, answer: await cancel(submitted) };
      },
      ({ answer }) => answer.kind === 'accepted',
    );
    const status = await suite.provider().read(jobId);
    assert.ok(status.kind === 'failed' || status.kind === 'missing', status.kind);
  });

  test('the cancel of an ended or unknown job is refused, and keeps its result', async () => {
    const jobId = await submitAccepted(suite, newJobSpec());
    const end = await readEnd(suite, jobId);
    assert.equal((await cancel(jobId)).kind, 'refused');
    assert.deepEqual((await suite.provider().read(jobId)).kind, end.kind);
    assert.equal((await cancel('never-submitted')).kind, 'refused');
  });
}
