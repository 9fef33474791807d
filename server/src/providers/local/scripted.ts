import { createReadStream } from 'node:fs';
import { ASPECT_RATIOS } from '../../catalog/models.ts';
import { type TestOutcome, testOutcomeOf } from '../../catalog/test-outcomes.ts';
import type { AdapterDeps } from '../definition.ts';
import {
  type Adapter,
  type Capabilities,
  type FindJobInput,
  type FindOutcome,
  type JobSpec,
  type JobStatus,
  OutputGone,
  type OutputReference,
  type SubmitOutcome,
} from '../provider.ts';
import { TEST_PROVIDER } from '../test-provider.ts';
import { cancel, findJob, type LocalJob, readStatus, submitJob, TOO_LATE } from './jobs.ts';

type ScriptedDeps = Pick<AdapterDeps, 'db' | 'now'>;

const DAY_SECONDS = 86_400;
const CAPABILITIES: Capabilities = {
  exactOutput: false,
  repeatsOutputs: true,
  drawsPatterns: true,
  findLagSeconds: 0,
  findSeconds: 2,
  jobLimitSeconds: DAY_SECONDS,
  outputLifeSeconds: 30 * DAY_SECONDS,
  budgets: {},
};

/** How long a job takes. */
const WORK_SECONDS = 2;
const SLOW_SECONDS = 30; // with the word `test-slow`
/** How long a job's acceptance is unknown, if the prompt asks for that. */
const HELD_SECONDS = 10;
const BUSY_SECONDS = 5;

/**
 * The provider of test keys (decisions/0048). A word in the prompt decides a job's outcome at its
 * submit; reads show it after a delay. So a restart changes nothing, and any process may be asked.
 */
export function createScriptedProvider(deps: ScriptedDeps): Adapter {
  const { db } = deps;
  return {
    identity: TEST_PROVIDER,
    capabilities: CAPABILITIES,
    submit: (jobSpec, mayStillSend) => submit(deps, jobSpec, mayStillSend),
    find: (attempt) => find(deps, attempt),
    read: (jobId) => readStatus(db, jobId, endOf),
    cancel: (jobId) => cancel(db, jobId),
    openOutput,
  };
}

async function submit(
  { db }: ScriptedDeps,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  const outcome = testOutcomeOf(jobSpec.prompt);
  const refused = refusalOf(outcome);
  if (refused) return mayStillSend() ? refused : TOO_LATE;
  const submitted = await submitJob(db, jobSpec, mayStillSend, {
    state: outcome === 'failed' ? 'failed' : 'succeeded',
    afterSeconds: outcome === 'slow' ? SLOW_SECONDS : WORK_SECONDS,
  });
  const isHidden = outcome === 'held-accepted' && submitted.kind === 'accepted';
  return isHidden ? { kind: 'unknown', cause: 'the prompt asks for it' } : submitted;
}

function refusalOf(outcome: TestOutcome): SubmitOutcome | undefined {
  const rejection = { kind: 'rejected', fault: 'request' } as const;
  switch (outcome) {
    case 'refused':
      return { ...rejection, code: 'content_refused', message: 'The content was refused.' };
    case 'media-unreachable':
      return { ...rejection, code: 'invalid_media', message: 'A file could not be downloaded.' };
    case 'busy': {
      const cause = 'the prompt asks for it';
      return { kind: 'rejected', fault: 'busy', cause, retryAfterSeconds: BUSY_SECONDS };
    }
    case 'held-refused':
      return { kind: 'unknown', cause: 'the prompt asks for it' };
    default:
      return undefined;
  }
}

async function find(
  { db, now }: ScriptedDeps,
  { jobSpec, sentBetween }: FindJobInput,
): Promise<FindOutcome> {
  const { attemptId, prompt } = jobSpec;
  const isHeld = testOutcomeOf(prompt).startsWith('held-');
  if (isHeld && now() - sentBetween.from < HELD_SECONDS * 1000) {
    return { kind: 'absent', proof: 'weak' };
  }
  return findJob(db, attemptId);
}

function endOf({ state, cause, spec }: LocalJob): JobStatus {
  if (state === 'succeeded') {
    return { kind: 'succeeded', output: { aspect_ratio: spec.aspect_ratio } };
  }
  const message = cause === 'cancelled' ? 'The job was cancelled.' : 'The provider failed.';
  return { kind: 'failed', code: 'provider_failed', message, billed: false };
}

/** @throws OutputGone for an aspect ratio without a video */
async function openOutput({ aspect_ratio: wanted }: OutputReference) {
  const ratio = ASPECT_RATIOS.find((known) => known === wanted);
  if (!ratio) throw new OutputGone(`there is no video of ${wanted}`);
  return createReadStream(new URL(`./videos/${ratio.replace(':', 'x')}.mp4`, import.meta.url));
}
