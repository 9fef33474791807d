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
  type Cloud,
  type Day,
  hasRun,
  isListed,
  isShown,
  JOB_LIMIT_SECONDS,
  type Job,
  likenessOf,
  OUTPUT_LIFE_SECONDS,
  type Plan,
  SUBMIT_TIMEOUT_SECONDS,
  sendJob,
} from './cloud.ts';
import { ConnectionLost, type Process } from './process.ts';
import { describe, type Trace } from './trace.ts';

export interface ProviderDeps {
  cloud: Cloud;
  random: Random;
  trace: Trace;
  day: Day;
  /** Milliseconds since 1970 at the simulation's start. */
  epochMs: number;
  /** Whether the provider behaves for once. */
  isCalm(): boolean;
}

/** The provider as a process of the simulation reaches it. */
export function providerOf(process: Process, deps: ProviderDeps): Provider {
  const { cloud, trace } = deps;
  const ask = <T>(what: string, answer: () => T): Promise<T> =>
    process.unit({ label: () => what }, async (fate) => {
      if (fate === 'refused') throw new ConnectionLost();
      return answer();
    });
  return {
    name: cloud.personality.name,
    identity: 'simulated',
    capabilities: capabilitiesOf(cloud),
    submit: (jobSpec, mayStillSend) => submit(process, deps, { jobSpec, mayStillSend }),
    async find(attempt) {
      const what = describe(trace, 'find', [attempt.jobSpec.attemptId]);
      const jobs = await ask(what, () => look(deps, process.nowMs(), attempt));
      return judge(cloud, jobs, await attempt.takenJobIds(jobs.map((job) => job.id)));
    },
    read: (jobId) => ask(`read ${jobId}`, () => statusOf(cloud, jobId, process.nowMs())),
    openOutput: (output) => ask(`open ${output.job}`, () => openOutput(cloud, output)),
    readCallback: async ({ body }) => readCallback(cloud, body),
  };
}

function capabilitiesOf({ personality }: Cloud): Capabilities {
  const { findLagSeconds, find, callbacks } = personality;
  return {
    ...{ exactOutput: false, findLagSeconds, find, callbacks },
    ...{ jobLimitSeconds: JOB_LIMIT_SECONDS, outputLifeSeconds: OUTPUT_LIFE_SECONDS },
    ...{ unsupported: {}, budgets: {} },
  };
}

interface Call {
  jobSpec: JobSpec;
  mayStillSend(): boolean;
}

async function submit(process: Process, deps: ProviderDeps, call: Call): Promise<SubmitOutcome> {
  const { random, trace } = deps;
  const plan = deps.isCalm() ? 'accepted' : random.weighted(deps.day);
  const connectSeconds = random.chance(0.15) ? random.between(1, 90) : random.between(0, 0.3);
  const name = trace.nameOf(call.jobSpec.attemptId);
  const label = () => `send ${name}, to be ${plan}`;
  const sent = await process.unit(
    { label, afterSeconds: connectSeconds, canFail: false },
    async () =>
      plan === 'not_sent' || !call.mayStillSend() ? undefined : send(process, deps, call, plan),
  );
  if (sent === undefined) return { kind: 'not_sent', cause: 'it was too late, or no connection' };
  const { job, replySeconds } = sent;
  const hearing = { label: () => `hear of ${name}`, afterSeconds: replySeconds, canFail: false };
  return process.unit(hearing, async () => replyOf(plan, job));
}

/** The bytes leave: what follows at the provider does not depend on us any more. */
function send(process: Process, deps: ProviderDeps, { jobSpec }: Call, plan: Plan) {
  const { cloud, random } = deps;
  const travelSeconds = random.chance(0.1) ? random.between(1, 28) : random.between(0.01, 0.5);
  const arrivesAtMs = process.nowMs() + Math.round(travelSeconds * 1000);
  const makesJob = ['accepted', 'reply_lost', 'error_after_accepting'].includes(plan);
  const isBarred = cloud.barredAttempts.has(jobSpec.attemptId);
  const job = makesJob && !isBarred ? sendJob(cloud, random, jobSpec, arrivesAtMs) : undefined;
  const hangs = plan === 'reply_lost' && random.chance(0.5);
  const replySeconds = hangs ? SUBMIT_TIMEOUT_SECONDS : travelSeconds + random.between(0, 1.5);
  return { job, replySeconds };
}

function replyOf(plan: Plan, job: Job | undefined): SubmitOutcome {
  switch (plan) {
    case 'accepted':
      return job && !job.isBarred
        ? { kind: 'accepted', jobId: job.id }
        : { kind: 'not_sent', cause: 'a look-up came first' };
    case 'busy':
    case 'operator':
      return { kind: 'rejected', fault: plan, cause: plan };
    case 'request_fault':
      return { kind: 'rejected', fault: 'request', code: 'content_refused', message: 'Not that.' };
    case 'throws':
      throw new Error('the adapter broke');
    case 'not_sent':
    case 'reply_lost':
    case 'error_after_accepting':
    case 'unknown_and_not_accepted':
      return { kind: 'unknown', cause: plan };
  }
}

/** The jobs that may be the attempt's, as the provider shows them now. */
function look({ cloud, epochMs }: ProviderDeps, nowMs: number, findInput: FindJobInput): Job[] {
  const { personality, jobs, barredAttempts } = cloud;
  const { attemptId } = findInput.jobSpec;
  if (personality.find === 'none') return [];
  if (personality.absence === 'final') barLateComers(cloud, attemptId, nowMs, barredAttempts);
  const shown = jobs.filter((job) => isListed(cloud, job, nowMs));
  if (personality.shows === 'mark') return shown.filter((job) => job.attemptId === attemptId);
  const from = findInput.sentBetween.from - epochMs;
  const to = findInput.sentBetween.to - epochMs;
  return shown
    .filter((job) => job.likeness === likenessOf(findInput.jobSpec))
    .filter((job) => from <= job.arrivesAtMs && job.arrivesAtMs <= to);
}

function barLateComers(cloud: Cloud, attemptId: string, nowMs: number, barred: Set<string>): void {
  const mine = cloud.jobs.find((job) => job.attemptId === attemptId);
  if (mine && hasRun(mine, nowMs)) return;
  barred.add(attemptId);
  if (mine) mine.isBarred = true;
}

function judge({ personality }: Cloud, jobs: Job[], taken: Set<string>): FindOutcome {
  const { shows, absence } = personality;
  const free = shows === 'mark' ? jobs : jobs.filter((job) => !taken.has(job.id));
  const [job] = free;
  if (!job) return { kind: 'absent', proof: absence };
  if (free.length > 1) return { kind: 'ambiguous', jobIds: free.map(({ id }) => id) };
  return { kind: 'found', jobId: job.id, by: shows };
}

function statusOf({ jobs }: Cloud, jobId: string, nowMs: number): JobStatus {
  const job = jobs.find(({ id }) => id === jobId);
  if (!job || !isShown(job, nowMs)) return { kind: 'missing' };
  if (job.ending === 'never' || nowMs < job.endsAtMs) return { kind: 'working' };
  if (job.ending === 'succeeds') return { kind: 'succeeded', output: { job: jobId } };
  const billed = job.ending === 'fails_billed';
  return { kind: 'failed', code: 'provider_failed', message: 'It broke.', billed };
}

function openOutput({ jobs }: Cloud, output: OutputReference): AsyncIterable<Uint8Array> {
  const job = jobs.find(({ id }) => id === output.job);
  if (!job || job.output === 'gone') throw new OutputGone('the result is gone');
  return bytesOf(job.output);
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function readCallback({ personality }: Cloud, body: Uint8Array): Callback {
  const { job, isGenuine } = JSON.parse(Buffer.from(body).toString());
  const isSigned = personality.callbacks === 'signed';
  if (isSigned && !isGenuine) return { kind: 'forged', cause: 'the signature is wrong' };
  return { kind: 'news', jobId: job, verified: isSigned };
}
