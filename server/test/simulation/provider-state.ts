import type { JobSpec } from '../../src/providers/provider.ts';
import type { Random } from '../random.ts';

/** How a kind of provider lets its jobs be found. All of them keep what they promise here. */
interface ProviderProfile {
  name: string;
  find: 'exact' | 'list' | 'none';
  /** What a list shows of a job: the attempt's mark, or only its likeness. */
  shows: 'mark' | 'likeness';
  /** How much a find proves that finds no job. */
  absence: 'final' | 'strong' | 'weak';
  findLagSeconds: number;
  callbacks: 'none' | 'unsigned' | 'signed';
}

const SILENT = { findLagSeconds: 0, callbacks: 'none' } as const;
const EXACT = { ...SILENT, find: 'exact', shows: 'mark', absence: 'final' } as const;
const LISTED = { ...SILENT, find: 'list', shows: 'likeness', absence: 'weak' } as const;
const UNLISTED = { ...LISTED, find: 'none' } as const;

const PROFILES: readonly ProviderProfile[] = [
  { name: 'exact_final', ...EXACT },
  { name: 'exact_strong', ...EXACT, absence: 'strong', findLagSeconds: 20 },
  { name: 'marked_list', ...LISTED, shows: 'mark', findLagSeconds: 20, callbacks: 'unsigned' },
  { name: 'signed_likeness', ...LISTED, findLagSeconds: 20, callbacks: 'signed' },
  { name: 'likeness_only', ...LISTED, findLagSeconds: 5 },
  { name: 'unlisted', ...UNLISTED, callbacks: 'unsigned' },
  { name: 'unlisted_silent', ...UNLISTED },
];

/** The provider of test keys, as `providers/local/scripted.ts` is. */
export const SCRIPTED_PROFILE: ProviderProfile = { name: 'scripted', ...EXACT };

/** A random profile. One whose absence proves something comes twice as often: it has more to check. */
function drawProfile(random: Random): ProviderProfile {
  const decisive = PROFILES.filter(({ absence }) => absence !== 'weak');
  return random.pick([...PROFILES, ...decisive]);
}

/**
 * The connections of a route, in order: usually one, at most three. They differ in how their jobs
 * are found.
 */
export function drawRoute(random: Random): ProviderProfile[] {
  const count = random.weighted({ 1: 3, 2: 2, 3: 1 });
  return Array.from({ length: Number(count) }, (_, i) => {
    const profile = drawProfile(random);
    return i === 0 ? profile : { ...profile, name: `${profile.name}_${i + 1}` };
  });
}

/** What becomes of a submit: whether it makes a job, and the response that the caller gets. */
export type SubmitPlan =
  | 'accepted'
  | 'response_lost'
  | 'error_after_accepting'
  | 'unknown_and_not_accepted'
  | 'throws'
  | 'busy'
  | 'operator'
  | 'request_fault'
  | 'not_sent';

/** The relative frequency of each plan. */
export type SubmitWeights = Record<SubmitPlan, number>;

const USUAL_WEIGHTS: SubmitWeights = {
  accepted: 30,
  response_lost: 4,
  error_after_accepting: 3,
  unknown_and_not_accepted: 4,
  throws: 1,
  busy: 3,
  operator: 1,
  request_fault: 2,
  not_sent: 2,
};
const BUSY_WEIGHTS: SubmitWeights = { ...USUAL_WEIGHTS, busy: 20, not_sent: 12, operator: 4 };
const UNCERTAIN_WEIGHTS: SubmitWeights = {
  ...USUAL_WEIGHTS,
  response_lost: 15,
  unknown_and_not_accepted: 15,
};
export const SUBMIT_WEIGHTS: readonly SubmitWeights[] = [
  USUAL_WEIGHTS,
  USUAL_WEIGHTS,
  BUSY_WEIGHTS,
  UNCERTAIN_WEIGHTS,
];

export const JOB_LIMIT_SECONDS = 300;
export const OUTPUT_KEPT_SECONDS = 1800;
/** The timeout of a submit. */
export const SUBMIT_CALL_SECONDS = 30;

/** A job at the provider. Everything about it is drawn in advance. Times are the simulation's. */
export interface SimulatedJob {
  id: string;
  attemptId: string;
  /** What the provider shows of it where it does not show the attempt's mark. */
  likeness: string;
  arrivesAtMs: number;
  /** From then on finds and reads show it. */
  shownAtMs: number;
  endsAtMs: number;
  ending: 'succeeds' | 'fails' | 'fails_billed' | 'never';
  vanishesAtMs: number;
  output: 'good' | 'gone' | 'damaged';
  /** A find came before the job arrived, and keeps it from ever running. */
  isBarred: boolean;
  /** The provider has said that the job will not run on. */
  isCancelled: boolean;
}

/** A callback that the provider will send. */
export interface PendingCallback {
  atMs: number;
  attemptId: string;
  jobId: string | null;
  isGenuine: boolean;
}

/** The provider's jobs and callbacks; crashes of the service do not affect them. */
export interface ProviderState {
  profile: ProviderProfile;
  jobs: SimulatedJob[];
  callbacks: PendingCallback[];
  barredAttempts: Set<string>;
}

export function createProviderState(profile: ProviderProfile): ProviderState {
  return { profile, jobs: [], callbacks: [], barredAttempts: new Set() };
}

/** Adds the job of a submit that was sent; it exists from the moment when the bytes arrive. */
export function sendJob(
  providerState: ProviderState,
  random: Random,
  { attemptId, ...jobSpec }: JobSpec,
  arrivesAtMs: number,
): SimulatedJob {
  const { profile, jobs } = providerState;
  const lagMs = random.between(0, profile.findLagSeconds) * 1000;
  const endsAtMs = arrivesAtMs + random.between(0.5, 120) * 1000;
  const job: SimulatedJob = {
    id: `${profile.name}-job-${jobs.length + 1}`,
    attemptId,
    likeness: likenessOf(jobSpec),
    arrivesAtMs,
    shownAtMs: arrivesAtMs + lagMs,
    endsAtMs,
    ending: random.weighted({ succeeds: 12, fails: 2, fails_billed: 1, never: 1 }),
    vanishesAtMs: random.chance(0.06) ? arrivesAtMs + random.between(1, 200) * 1000 : Infinity,
    output: random.weighted({ good: 14, gone: 1, damaged: 1 }),
    isBarred: false,
    isCancelled: false,
  };
  jobs.push(job);
  if (profile.callbacks !== 'none') planCallbacks(providerState, random, job);
  return job;
}

/** The fields that a list shows, as with Ark: neither prompt nor seed. */
export function likenessOf(jobSpec: Omit<JobSpec, 'attemptId'>): string {
  const { mode, model, resolution, duration } = jobSpec;
  return [mode, model, resolution, duration].join(' ');
}

/** Adds callbacks that come early, late, twice or never, and sometimes a forged one. */
function planCallbacks({ callbacks }: ProviderState, random: Random, job: SimulatedJob): void {
  const { attemptId, id: jobId, arrivesAtMs, endsAtMs } = job;
  for (const eventMs of [arrivesAtMs, endsAtMs]) {
    const times = random.weighted({ never: 2, once: 5, twice: 2 });
    for (let i = 0; i < { never: 0, once: 1, twice: 2 }[times]; i += 1) {
      const atMs = eventMs + random.between(0, random.pick([1, 60])) * 1000;
      callbacks.push({ atMs, attemptId, jobId, isGenuine: true });
    }
  }
  if (random.chance(0.2)) {
    const atMs = arrivesAtMs + random.between(-5, 60) * 1000;
    callbacks.push({ atMs, attemptId, jobId: 'forged-job', isGenuine: false });
  }
}

/** Whether the provider runs this job or has run it. */
export function hasRun(job: SimulatedJob, nowMs: number): boolean {
  return job.arrivesAtMs <= nowMs && !job.isBarred;
}

/** Whether a find shows the job. Where absence proves something, a job once shown stays shown. */
export function isInList({ profile }: ProviderState, job: SimulatedJob, nowMs: number): boolean {
  if (profile.absence === 'weak') return isShown(job, nowMs);
  return hasRun(job, nowMs) && job.shownAtMs <= nowMs;
}

/** Whether a read finds the job. */
export function isShown(job: SimulatedJob, nowMs: number): boolean {
  return hasRun(job, nowMs) && job.shownAtMs <= nowMs && nowMs < job.vanishesAtMs;
}

/** Ends a job that runs, as its customer wants. @returns whether it will not run on */
export function cancelJob(state: ProviderState, jobId: string, nowMs: number): boolean {
  const job = state.jobs.find(({ id }) => id === jobId);
  if (!job || !isShown(job, nowMs)) return false;
  if (job.isCancelled) return true;
  if (job.ending !== 'never' && job.endsAtMs <= nowMs) return false;
  job.isCancelled = true;
  job.ending = 'fails';
  job.endsAtMs = nowMs;
  return true;
}

/** Whether the provider charges for the job. */
export function isBilled(job: SimulatedJob, nowMs: number): boolean {
  const bills = job.ending === 'succeeds' || job.ending === 'fails_billed';
  return hasRun(job, nowMs) && job.endsAtMs <= nowMs && bills;
}
