import { createReadStream } from 'node:fs';
import { ASPECT_RATIOS } from '../../catalog/models.ts';
import { type TestOutcome, testOutcomeOf } from '../../catalog/test-outcomes.ts';
import type { Database } from '../../database/database.ts';
import { startInterval } from '../../kernel/interval.ts';
import type { AdapterDeps } from '../definition.ts';
import type {
  CancelOutcome,
  Capabilities,
  FindJobInput,
  FindOutcome,
  JobSpec,
  JobStatus,
  OutputReference,
  Provider,
  SubmitOutcome,
} from '../provider.ts';
import { OutputGone } from '../provider.ts';
import {
  addScripted,
  barScripted,
  cancelScripted,
  forgetScripted,
  readScripted,
  type ScriptedJob,
} from './jobs.ts';

type ScriptedDeps = Pick<AdapterDeps, 'db' | 'log' | 'now'>;

const DAY_SECONDS = 86_400;
const CAPABILITIES: Capabilities = {
  exactOutput: false,
  repeatsOutputs: true,
  findLagSeconds: 0,
  findSeconds: 2,
  jobLimitSeconds: DAY_SECONDS,
  outputLifeSeconds: 30 * DAY_SECONDS,
  budgets: {},
};

/** How long a job works; one with the word `test-slow`. */
const WORK_SECONDS = 2;
const SLOW_SECONDS = 30;
/** How long it is not known whether a job was accepted, if the prompt asks for that. */
const HELD_SECONDS = 10;
/** The Retry-After of a busy provider. */
const BUSY_SECONDS = 5;
const FORGET_SECONDS = 3600;

/**
 * The provider of test keys. What becomes of a job is decided by a word in its prompt and by the
 * time since its submit, so a restart changes nothing, and any process may be asked.
 */
export function createScriptedProvider(deps: ScriptedDeps): Provider {
  const { db, log } = deps;
  const stopping = new AbortController();
  return {
    name: 'scripted',
    identity: 'scripted',
    capabilities: CAPABILITIES,
    submit: (jobSpec, mayStillSend) => submit(db, jobSpec, mayStillSend),
    find: (attempt) => find(deps, attempt),
    read: async (jobId) => statusOf(await readScripted(db, jobId)),
    cancel: (jobId) => cancel(db, jobId),
    openOutput,
    start() {
      const forgetting = { name: 'scripted jobs', log, signal: stopping.signal };
      startInterval(FORGET_SECONDS, forgetting, () => forgetScripted(db));
    },
    async stop() {
      stopping.abort();
    },
  };
}

async function submit(
  db: Database,
  { attemptId: id, prompt, aspect_ratio: aspectRatio }: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  if (!mayStillSend()) return { kind: 'not_sent', cause: 'the time to send was over' };
  const outcome = testOutcomeOf(prompt);
  const refused = refusalOf(outcome);
  if (refused) return refused;
  try {
    if (!(await addScripted(db, { id, outcome, aspectRatio }))) {
      return { kind: 'not_sent', cause: 'a find came first and barred the attempt' };
    }
  } catch (error) {
    return { kind: 'unknown', cause: `the database: ${String(error)}` };
  }
  if (outcome === 'held-accepted') return { kind: 'unknown', cause: 'the prompt asks for it' };
  return { kind: 'accepted', jobId: id };
}

/** The outcome of a submit that makes no job. */
function refusalOf(outcome: TestOutcome): SubmitOutcome | undefined {
  const ofRequest = { kind: 'rejected', fault: 'request' } as const;
  switch (outcome) {
    case 'refused':
      return { ...ofRequest, code: 'content_refused', message: 'The content was refused.' };
    case 'media-unreachable':
      return { ...ofRequest, code: 'invalid_media', message: 'A file could not be downloaded.' };
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
  await barScripted(db, attemptId);
  const job = await readScripted(db, attemptId);
  return job && job.state !== 'barred'
    ? { kind: 'found', jobId: job.id, by: 'mark' }
    : { kind: 'absent', proof: 'final' };
}

function workSeconds(outcome: TestOutcome): number {
  return outcome === 'slow' ? SLOW_SECONDS : WORK_SECONDS;
}

function statusOf(job: ScriptedJob | undefined): JobStatus {
  if (!job || job.state === 'barred') return { kind: 'missing' };
  const failed = { kind: 'failed', code: 'provider_failed', billed: false } as const;
  if (job.state === 'cancelled') return { ...failed, message: 'The job was cancelled.' };
  if (job.age_seconds < workSeconds(job.outcome)) return { kind: 'working' };
  if (job.outcome === 'failed') return { ...failed, message: 'The provider failed.' };
  return { kind: 'succeeded', output: { aspect_ratio: job.aspect_ratio } };
}

async function cancel(db: Database, jobId: string): Promise<CancelOutcome> {
  const job = await readScripted(db, jobId);
  if (job && (await cancelScripted(db, jobId, workSeconds(job.outcome))))
    return { kind: 'accepted' };
  return { kind: 'refused', cause: 'the job does not work any more' };
}

/** @throws OutputGone for an aspect ratio without a video */
async function openOutput({ aspect_ratio: wanted }: OutputReference) {
  const ratio = ASPECT_RATIOS.find((known) => known === wanted);
  if (!ratio) throw new OutputGone(`there is no video of ${wanted}`);
  return createReadStream(new URL(`./videos/${ratio.replace(':', 'x')}.mp4`, import.meta.url));
}
