import assert from 'node:assert/strict';
import type {
  FindJobInput,
  JobSpec,
  JobStatus,
  SubmitOutcome,
} from '../../../src/providers/provider.ts';
import { until } from '../../until.ts';
import { jobSpec } from '../job-spec.ts';
import type { Suite } from './subject.ts';

let made = 0;

/** A small job spec with a unique prompt and attempt id. */
export function newJobSpec(changes: Partial<JobSpec> = {}): JobSpec {
  made += 1;
  const attemptId = `att_${process.pid}x${Date.now()}x${made}`;
  return jobSpec({
    attemptId,
    prompt: `A paper boat crosses puddle ${attemptId}`,
    aspect_ratio: '1:1',
    duration: 4,
    generate_audio: true,
    seed: 7,
    callbackUrl: `http://127.0.0.1:9/callbacks/${attemptId}`,
    ...changes,
  });
}

/**
 * What the host passes to a find of an attempt that was sent after `from` and whose submit has
 * ended.
 */
export function findJobInput(jobSpec: JobSpec, from: number, taken: string[] = []): FindJobInput {
  const isTaken = (id: string) => taken.includes(id);
  return {
    jobSpec,
    sentBetween: { from, to: Date.now() },
    takenJobIds: async (jobIds) => new Set(jobIds.filter(isTaken)),
  };
}

export const sendNow = () => true;

/** Submits, expects acceptance and returns the job id. */
export async function submitAccepted(suite: Suite, jobSpec: JobSpec): Promise<string> {
  const outcome = await suite.provider().submit(jobSpec, sendNow);
  assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome));
  return outcome.kind === 'accepted' ? outcome.jobId : '';
}

/**
 * Submits so that the response is lost. Without a network, the outcome is ignored, as if the
 * calling process had been killed.
 */
export async function submitLost(suite: Suite, jobSpec: JobSpec): Promise<void> {
  const isSent = suite.of.transport === 'http';
  if (isSent) await suite.simulator().plan({ faults: [{ kind: 'drop_after_accepting' }] });
  const outcome = await suite.provider().submit(jobSpec, sendNow);
  if (isSent) expectKind(outcome, 'unknown');
}

/** Reads a job until it has ended. */
export async function readEnd(suite: Suite, jobId: string): Promise<JobStatus> {
  await suite.simulator().finish?.(jobId);
  return until(
    () => suite.provider().read(jobId),
    ({ kind }) => kind !== 'working',
  );
}

export function expectKind(outcome: SubmitOutcome, kind: SubmitOutcome['kind']): void {
  assert.equal(outcome.kind, kind, JSON.stringify(outcome));
}

/** The ids of the jobs that exist for a prompt. */
export async function jobsFor(suite: Suite, { prompt }: JobSpec): Promise<string[]> {
  const jobs = await suite.simulator().jobs();
  return jobs.filter((job) => job.prompt === prompt).map(({ id }) => id);
}

/** How many submits the simulator got, including those that it did not read. */
export async function submitCount(suite: Suite): Promise<number> {
  const requests = await suite.simulator().requests();
  return requests.filter(({ call }) => call === 'submit').length;
}
