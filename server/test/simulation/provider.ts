import {
  type Callback,
  type Capabilities,
  type FindJobInput,
  type FindOutcome,
  type JobSpec,
  type JobStatus,
  OutputGone,
  type OutputReference,
  type Provider,
  type SubmitOutcome,
} from '../../src/providers/provider.ts';
import type { Random } from '../random.ts';
import {
  cancelJob,
  hasRun,
  isInList,
  isShown,
  JOB_LIMIT_SECONDS,
  likenessOf,
  OUTPUT_KEPT_SECONDS,
  type ProviderState,
  type SimulatedJob,
  SUBMIT_CALL_SECONDS,
  type SubmitPlan,
  type SubmitWeights,
  sendJob,
} from './provider-state.ts';
import { ConnectionLost, type Process } from './scheduler/process.ts';
import { describe, type Trace } from './scheduler/trace.ts';

interface SimulatedProviderDeps {
  providerState: ProviderState;
  random: Random;
  trace: Trace;
  submitWeights: SubmitWeights;
  /** Milliseconds since 1970 at the simulation's start. */
  epochMs: number;
  /** Whether the provider accepts every submit from now on. */
  isCalm(): boolean;
}

/** The provider as a process of the simulation calls it. */
export function providerOf(process: Process, deps: SimulatedProviderDeps): Provider {
  const { providerState, trace } = deps;
  const respond = <T>(what: string, response: () => T): Promise<T> =>
    process.unit({ label: () => what }, async (fault) => {
      if (fault === 'refused') throw new ConnectionLost();
      return response();
    });
  return {
    name: providerState.profile.name,
    identity: 'simulated',
    capabilities: capabilitiesOf(providerState),
    submit: (jobSpec, mayStillSend) => submit(process, deps, { jobSpec, mayStillSend }),
    async find(attempt) {
      const what = describe(trace, 'find', [attempt.jobSpec.attemptId]);
      const jobs = await respond(what, () => shownJobs(deps, process.nowMs(), attempt));
      return findOutcome(providerState, jobs, await attempt.takenJobIds(jobs.map((job) => job.id)));
    },
    read: (jobId) =>
      respond(`read ${jobId}`, () => statusOf(providerState, jobId, process.nowMs())),
    cancel: (jobId) =>
      respond(`cancel ${jobId}`, () =>
        deps.random.chance(0.7) && cancelJob(providerState, jobId, process.nowMs())
          ? { kind: 'accepted' as const }
          : { kind: 'refused' as const, cause: 'it runs on' },
      ),
    openOutput: (output) => respond(`open ${output.job}`, () => openOutput(providerState, output)),
    readCallback: async ({ body }) => readCallback(providerState, body),
  };
}

function capabilitiesOf({ profile }: ProviderState): Capabilities {
  const { findLagSeconds } = profile;
  return {
    exactOutput: false,
    findLagSeconds,
    budgets: {},
    jobLimitSeconds: JOB_LIMIT_SECONDS,
    outputLifeSeconds: OUTPUT_KEPT_SECONDS,
  };
}

interface SubmitCall {
  jobSpec: JobSpec;
  mayStillSend(): boolean;
}

async function submit(
  process: Process,
  deps: SimulatedProviderDeps,
  call: SubmitCall,
): Promise<SubmitOutcome> {
  const { random, trace } = deps;
  const plan = deps.isCalm() ? 'accepted' : random.weighted(deps.submitWeights);
  const connectSeconds = random.chance(0.15) ? random.between(1, 90) : random.between(0, 0.3);
  const name = trace.nameOf(call.jobSpec.attemptId);
  const label = () => `send ${name}, to be ${plan}`;
  const sent = await process.unit(
    { label, afterSeconds: connectSeconds, canFail: false },
    async () =>
      plan === 'not_sent' || !call.mayStillSend() ? undefined : send(process, deps, call, plan),
  );
  if (sent === undefined) return { kind: 'not_sent', cause: 'too late, or no connection' };
  const { job, replySeconds } = sent;
  const receiving = {
    label: () => `response to ${name}`,
    afterSeconds: replySeconds,
    canFail: false,
  };
  return process.unit(receiving, async () => replyOf(plan, job));
}

/** Sends the bytes; a crash of the service does not change any more what the provider does. */
function send(
  process: Process,
  deps: SimulatedProviderDeps,
  { jobSpec }: SubmitCall,
  plan: SubmitPlan,
) {
  const { providerState, random } = deps;
  const travelSeconds = random.chance(0.1) ? random.between(1, 28) : random.between(0.01, 0.5);
  const arrivesAtMs = process.nowMs() + Math.round(travelSeconds * 1000);
  const makesJob = ['accepted', 'response_lost', 'error_after_accepting'].includes(plan);
  const isBarred = providerState.barredAttempts.has(jobSpec.attemptId);
  const job =
    makesJob && !isBarred ? sendJob(providerState, random, jobSpec, arrivesAtMs) : undefined;
  const hangs = plan === 'response_lost' && random.chance(0.5);
  const replySeconds = hangs ? SUBMIT_CALL_SECONDS : travelSeconds + random.between(0, 1.5);
  return { job, replySeconds };
}

function replyOf(plan: SubmitPlan, job: SimulatedJob | undefined): SubmitOutcome {
  switch (plan) {
    case 'accepted':
      return job && !job.isBarred
        ? { kind: 'accepted', jobId: job.id }
        : { kind: 'not_sent', cause: 'a find came first' };
    case 'busy':
    case 'operator':
      return { kind: 'rejected', fault: plan, cause: plan };
    case 'request_fault':
      return { kind: 'rejected', fault: 'request', code: 'content_refused', message: 'Not that.' };
    case 'throws':
      throw new Error('the adapter broke');
    case 'not_sent':
    case 'response_lost':
    case 'error_after_accepting':
    case 'unknown_and_not_accepted':
      return { kind: 'unknown', cause: plan };
  }
}

/** The jobs that may be the attempt's, as the provider shows them now; an exact find bars others. */
function shownJobs(
  { providerState, epochMs }: SimulatedProviderDeps,
  nowMs: number,
  findInput: FindJobInput,
): SimulatedJob[] {
  const { profile, jobs, barredAttempts } = providerState;
  const { attemptId } = findInput.jobSpec;
  if (profile.find === 'none') return [];
  if (profile.absence === 'final') barLateComers(providerState, attemptId, nowMs, barredAttempts);
  const shown = jobs.filter((job) => isInList(providerState, job, nowMs));
  if (profile.shows === 'mark') return shown.filter((job) => job.attemptId === attemptId);
  const from = findInput.sentBetween.from - epochMs;
  const to = findInput.sentBetween.to - epochMs;
  return shown
    .filter((job) => job.likeness === likenessOf(findInput.jobSpec))
    .filter((job) => from <= job.arrivesAtMs && job.arrivesAtMs <= to);
}

function barLateComers(
  providerState: ProviderState,
  attemptId: string,
  nowMs: number,
  barred: Set<string>,
): void {
  const mine = providerState.jobs.find((job) => job.attemptId === attemptId);
  if (mine && hasRun(mine, nowMs)) return;
  barred.add(attemptId);
  if (mine) mine.isBarred = true;
}

function findOutcome(
  { profile }: ProviderState,
  jobs: SimulatedJob[],
  taken: Set<string>,
): FindOutcome {
  const { shows, absence } = profile;
  const free = shows === 'mark' ? jobs : jobs.filter((job) => !taken.has(job.id));
  const [job] = free;
  if (!job) return { kind: 'absent', proof: absence };
  if (free.length > 1) return { kind: 'ambiguous', jobIds: free.map(({ id }) => id) };
  return { kind: 'found', jobId: job.id, by: shows };
}

function statusOf({ jobs }: ProviderState, jobId: string, nowMs: number): JobStatus {
  const job = jobs.find(({ id }) => id === jobId);
  if (!job || !isShown(job, nowMs)) return { kind: 'missing' };
  if (job.ending === 'never' || nowMs < job.endsAtMs) return { kind: 'working' };
  if (job.ending === 'succeeds') return { kind: 'succeeded', output: { job: jobId } };
  const billed = job.ending === 'fails_billed';
  const isProviderFault = !job.isCancelled;
  return { kind: 'failed', code: 'provider_failed', message: 'It broke.', billed, isProviderFault };
}

function openOutput({ jobs }: ProviderState, output: OutputReference): AsyncIterable<Uint8Array> {
  const job = jobs.find(({ id }) => id === output.job);
  if (!job || job.output === 'gone') throw new OutputGone('the result is gone');
  return bytesOf(job.output);
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function readCallback({ profile }: ProviderState, body: Uint8Array): Callback {
  const { job, isGenuine } = JSON.parse(Buffer.from(body).toString());
  const isSigned = profile.callbacks === 'signed';
  if (isSigned && !isGenuine) return { kind: 'forged', cause: 'the signature is wrong' };
  return { kind: 'report', jobId: job, verified: isSigned };
}
