import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newJobSpec, readEnd, sendNow, submitAccepted } from './attempts.ts';
import type { PlannedFault, StatusCase, Suite } from './subject.ts';

/** Temporary failures of a read or a find, which say nothing about the job. */
export const TEMPORARY: PlannedFault[] = [
  { kind: 'reset_after_body' },
  { kind: 'drop_after_accepting' },
  { kind: 'error_after_accepting', status: 500 },
  { kind: 'error_after_accepting', status: 503 },
  { kind: 'unreadable' },
  { kind: 'truncated_body' },
  { kind: 'slow_headers' },
  { kind: 'refuse', status: 401 },
  { kind: 'refuse', status: 429 },
];

export function readTests(suite: Suite): void {
  test('a job that was never submitted is missing', async () => {
    assert.deepEqual(await suite.provider().read('never-submitted'), { kind: 'missing' });
  });

  for (const status of suite.of.statuses) statusTest(suite, status);
}

/** Reads from a foreign host: unknown statuses, jobs without end, lost jobs, failed reads. */
export function foreignReadTests(suite: Suite): void {
  test('a job with an unknown status is working', async () => {
    const word = { kind: 'status_word', word: 'defragmenting' };
    await suite.simulator().plan({ faults: [word] });
    const jobId = await submitAccepted(suite, newJobSpec());
    await succeedAnother(suite);
    assert.deepEqual(await suite.provider().read(jobId), { kind: 'working' });
  });

  test('a job that never ends stays working', async () => {
    await suite.simulator().plan({ faults: [{ kind: 'never_ends' }] });
    const jobId = await submitAccepted(suite, newJobSpec());
    await succeedAnother(suite);
    assert.deepEqual(await suite.provider().read(jobId), { kind: 'working' });
  });

  test('a job that vanished is missing', async () => {
    await suite.simulator().plan({ faults: [{ kind: 'vanishes' }] });
    const outcome = await suite.provider().submit(newJobSpec(), sendNow);
    assert.equal(outcome.kind, 'accepted');
    if (outcome.kind !== 'accepted') return;
    assert.deepEqual(await suite.provider().read(outcome.jobId), { kind: 'missing' });
  });

  for (const fault of TEMPORARY) {
    test(`a read that meets "${fault.kind}" throws: it does not end a job`, async () => {
      const jobId = await submitAccepted(suite, newJobSpec());
      // Twice: a call on a connection that was kept open is made again when that one breaks.
      await suite.simulator().plan({ on: 'read', faults: [fault], times: 2 });
      await assert.rejects(async () => suite.provider().read(jobId));
      await suite.simulator().clearPlans();
    });
  }
}

function statusTest(suite: Suite, { says, changes, becomes }: StatusCase): void {
  const { kind, code } = becomes;
  test(`a job that is ${says} is ${kind}${code === undefined ? '' : ` (${code})`}`, async () => {
    const jobSpec = newJobSpec();
    const jobId = await submitAccepted(suite, jobSpec);
    const jobs = await suite.simulator().jobs();
    const job = jobs.find(({ prompt }) => prompt === jobSpec.prompt);
    assert.ok(job);
    await suite.simulator().changeJob(job.id, changes);
    const NO_FAULT = { isProviderFault: false };
    const status: Record<string, unknown> = {
      ...NO_FAULT,
      ...(await suite.provider().read(jobId)),
    };
    const expected = Object.entries({ ...NO_FAULT, ...becomes });
    for (const [field, value] of expected) assert.equal(status[field], value, field);
  });
}

/** Waits until a new job has ended: by then, an older one would have ended too. */
async function succeedAnother(suite: Suite): Promise<void> {
  const jobId = await submitAccepted(suite, newJobSpec());
  await readEnd(suite, jobId);
}
