import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { decodeFrames } from '../../../../local-renderer/test/media-samples.ts';
import { frameSize } from '../../../src/catalog/frame-size.ts';
import { OutputGone, type OutputReference } from '../../../src/providers/provider.ts';
import { newJobSpec, readEnd, submitAccepted } from './attempts.ts';
import type { PlannedFault, Suite } from './subject.ts';

/** Faults of one download; the link stays valid. */
const TEMPORARY: PlannedFault[] = [
  { kind: 'reset_after_body' },
  { kind: 'drop_after_accepting' },
  { kind: 'truncated_body' },
  { kind: 'error_after_accepting', status: 503 },
];

const FRAMES_PER_SECOND = 24;

export function outputTests(suite: Suite): void {
  test('a job is working, then succeeded; its video decodes and can be fetched twice', async () => {
    const jobId = await submitAccepted(suite, newJobSpec({ generate_audio: false }));
    assert.deepEqual(await suite.provider().read(jobId), { kind: 'working' });
    const output = await outputOf(suite, jobId);
    const stored: OutputReference = JSON.parse(JSON.stringify(output)); // as a task stores it
    const bytes = await download(suite, stored);
    assert.ok(bytes.equals(await download(suite, stored)));
    const { count, width, height } = await decoded(bytes);
    if (!suite.provider().capabilities.exactOutput) return assert.ok(count > 0);
    const { resolution, aspect_ratio, duration } = newJobSpec();
    assert.deepEqual({ width, height }, frameSize(resolution, aspect_ratio));
    assert.equal(count, duration * FRAMES_PER_SECOND);
  });
}

/** Outputs at a foreign host. */
export function foreignOutputTests(suite: Suite): void {
  let good: Promise<OutputReference> | undefined;
  const goodOutput = () => (good ??= succeed(suite, []));

  for (const fault of TEMPORARY) {
    test(`an output that meets "${fault.kind}" fails for now, but is not gone`, async () => {
      const output = await goodOutput();
      // Twice: a call on a connection that was kept open is made again when that one breaks.
      await suite.simulator().plan({ on: 'output', faults: [fault], times: 2 });
      await assert.rejects(download(suite, output), (error) => !(error instanceof OutputGone));
      await suite.simulator().clearPlans();
      assert.ok((await download(suite, output)).length > 0);
    });
  }

  test('an output whose link has expired is gone', async () => {
    const output = await succeed(suite, [{ kind: 'output_expired' }]);
    await assert.rejects(download(suite, output), OutputGone);
  });

  test('an output that is too large is refused', async () => {
    const output = await succeed(suite, [{ kind: 'output_too_large' }]);
    await assert.rejects(download(suite, output));
  });
}

async function succeed(suite: Suite, faults: PlannedFault[]): Promise<OutputReference> {
  if (faults.length > 0) await suite.simulator().plan({ faults });
  return outputOf(suite, await submitAccepted(suite, newJobSpec({ generate_audio: false })));
}

async function outputOf(suite: Suite, jobId: string): Promise<OutputReference> {
  const status = await readEnd(suite, jobId);
  assert.equal(status.kind, 'succeeded');
  return status.kind === 'succeeded' ? status.output : {};
}

async function download(suite: Suite, output: OutputReference): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(await suite.provider().openOutput(output)));
}

/** The number of frames of a video and the size of its first frame. */
async function decoded(bytes: Buffer) {
  const folder = await mkdtemp(path.join(tmpdir(), 'output-'));
  try {
    const file = path.join(folder, 'output.mp4');
    await writeFile(file, bytes);
    const { count, frame } = await decodeFrames(file, [0]);
    const { width, height } = frame(0);
    return { count, width, height };
  } finally {
    await rm(folder, { recursive: true });
  }
}
