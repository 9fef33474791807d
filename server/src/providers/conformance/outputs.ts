import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutputGone, type OutputReference } from '../provider.ts';
import { eventually, newSubmission, submitAccepted } from './attempts.ts';
import type { PlannedFault, Suite } from './subject.ts';

/** On the way to an output; the link stays good. */
const PASSING: PlannedFault[] = [
  { kind: 'reset_after_body' },
  { kind: 'drop_after_accepting' },
  { kind: 'truncated_body' },
  { kind: 'error_after_accepting', status: 503 },
];

export function outputTests(suite: Suite): void {
  test('the output of a job that succeeded is an MP4, and can be had twice', async () => {
    const output = await succeed(suite, []);
    const first = await download(suite, output);
    assert.equal(first.subarray(4, 8).toString(), 'ftyp');
    assert.ok(first.equals(await download(suite, output)));
  });

  test('an output reference survives being stored as JSON', async () => {
    const output = await succeed(suite, []);
    const stored: OutputReference = JSON.parse(JSON.stringify(output));
    assert.deepEqual(stored, output);
    assert.ok((await download(suite, stored)).length > 0);
  });

  for (const fault of PASSING) {
    test(`an output that meets "${fault.kind}" fails for now, and is not gone`, async () => {
      const output = await succeed(suite, []);
      await suite.simulator().plan({ on: 'output', faults: [fault] });
      await assert.rejects(download(suite, output), (error) => !(error instanceof OutputGone));
      assert.ok((await download(suite, output)).length > 0);
    });
  }

  test('an output whose link has expired is gone', async () => {
    const output = await succeed(suite, [{ kind: 'output_expired' }]);
    await assert.rejects(download(suite, output), OutputGone);
  });

  test('an output that is too large is given up', async () => {
    const output = await succeed(suite, [{ kind: 'output_too_large' }]);
    await assert.rejects(download(suite, output));
  });
}

async function succeed(suite: Suite, faults: PlannedFault[]): Promise<OutputReference> {
  await suite.simulator().plan({ faults });
  const jobId = await submitAccepted(suite, newSubmission());
  const read = () => suite.provider().read(jobId);
  const status = await eventually(read, ({ kind }) => kind !== 'working');
  assert.equal(status.kind, 'succeeded');
  return status.kind === 'succeeded' ? status.output : {};
}

async function download(suite: Suite, output: OutputReference): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(await suite.provider().openOutput(output)));
}
