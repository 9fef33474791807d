import path from 'node:path';
import type { RenderSpec } from 'local-renderer';
import { frameSize } from '../../catalog/frame-size.ts';
import type { Database } from '../../database/database.ts';
import { startInterval } from '../../kernel/interval.ts';
import { writeStream } from '../../kernel/scratch-directory.ts';
import type { AdapterDeps } from '../definition.ts';
import type {
  CancelOutcome,
  Capabilities,
  FindOutcome,
  JobSpec,
  JobStatus,
  OutputReference,
  Provider,
  SubmitOutcome,
} from '../provider.ts';
import { OutputGone } from '../provider.ts';
import {
  addJob,
  cancelJob,
  finishJob,
  type LocalJob,
  loseRender,
  RENDER_GONE,
  RENDER_LEASE_SECONDS,
  readJob,
  readOrBar,
  renewJob,
  takeJob,
} from './jobs.ts';
import { renderVideo } from './render.ts';

/** Where the renderer reads inputs and keeps results; every process must be able to open them. */
export interface RenderFiles {
  open(objectId: string): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Keeps a finished render for a while.
   * @returns the name to open it by
   */
  keep(filePath: string, jobId: string): Promise<string>;
}

export type LocalProviderDeps = Pick<AdapterDeps, 'db' | 'scratch' | 'log'> & {
  files: RenderFiles;
};

/** Two days: a render that is not done by then will never be done. */
const JOB_LIMIT_SECONDS = 172_800;

const CAPABILITIES: Capabilities = {
  exactOutput: true,
  findLagSeconds: 0,
  jobLimitSeconds: JOB_LIMIT_SECONDS,
  outputLifeSeconds: 86_400,
  budgets: {},
};

/** A job whose render was interrupted this often fails: the render probably kills its process. */
const MAX_RENDERS = 50;
/** Jobs that another process has accepted or was interrupted at are looked for this often. */
const LOOK_SECONDS = 2;

/**
 * The local renderer as a provider. It accepts a job with the attempt's id. Any process that has
 * called `start` renders the job in a child process. Finds are exact: a find that finds no job bars
 * the attempt, so that no job of it can be added later.
 */
export function createLocalProvider(deps: LocalProviderDeps): Provider {
  const stopping = new AbortController();
  let rendering: Promise<void> = Promise.resolve();
  let look = () => {};
  return {
    name: 'local',
    identity: 'local',
    capabilities: CAPABILITIES,
    async submit(jobSpec, mayStillSend) {
      const outcome = await submit(deps.db, jobSpec, mayStillSend);
      look();
      return outcome;
    },
    find: ({ jobSpec }) => find(deps.db, jobSpec.attemptId),
    read: (jobId) => read(deps.db, jobId),
    cancel: (jobId) => cancel(deps.db, jobId),
    openOutput: (output) => openRender(deps, output),
    start() {
      const { signal } = stopping;
      look = startInterval(LOOK_SECONDS, { name: 'rendering', log: deps.log, signal }, () => {
        rendering = renderNext(deps, signal);
        return rendering;
      });
    },
    async stop() {
      stopping.abort();
      await rendering.catch(() => {});
    },
  };
}

async function submit(
  db: Database,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  if (!mayStillSend()) return { kind: 'not_sent', cause: 'the time to send was over' };
  try {
    const job = await addJob(db, jobSpec);
    if (job && job.state !== 'barred') return { kind: 'accepted', jobId: job.id };
    return { kind: 'not_sent', cause: 'a find came first and barred the attempt' };
  } catch (error) {
    return { kind: 'unknown', cause: `the database: ${String(error)}` };
  }
}

async function find(db: Database, attemptId: string): Promise<FindOutcome> {
  const job = await readOrBar(db, attemptId);
  return job && job.state !== 'barred'
    ? { kind: 'found', jobId: job.id, by: 'mark' }
    : { kind: 'absent', proof: 'final' };
}

async function cancel(db: Database, jobId: string): Promise<CancelOutcome> {
  if (await cancelJob(db, jobId)) return { kind: 'accepted' };
  return { kind: 'refused', cause: 'the job neither waits nor is rendered' };
}

async function read(db: Database, jobId: string): Promise<JobStatus> {
  const job = await readJob(db, jobId);
  switch (job?.state) {
    case 'queued':
    case 'rendering':
      return { kind: 'working' };
    case 'succeeded':
      return { kind: 'succeeded', output: { object: job.object_id ?? '', job: jobId } };
    case 'failed': {
      if (job.cause === RENDER_GONE) {
        const message = 'The local render was deleted before it was copied.';
        return { kind: 'failed', code: 'generation_expired', message, billed: false };
      }
      const message = 'The local renderer could not make this video.';
      return { kind: 'failed', code: 'provider_failed', message, billed: false };
    }
    case 'barred':
    case undefined:
      return { kind: 'missing' };
  }
}

/**
 * Opens a finished render. If it was deleted, its job fails, so the task is refunded at the next
 * read.
 */
async function openRender({ db, files }: LocalProviderDeps, { object, job }: OutputReference) {
  try {
    if (object === undefined) throw new OutputGone(RENDER_GONE);
    return await files.open(object);
  } catch (error) {
    if (error instanceof OutputGone && job !== undefined) await loseRender(db, job);
    throw error;
  }
}

async function renderNext(deps: LocalProviderDeps, signal: AbortSignal): Promise<void> {
  for (let job = await takeJob(deps.db); job; job = await takeJob(deps.db)) {
    const end = await render(deps, job, signal);
    if (end) await finishJob(deps.db, job, end);
    if (end?.state === 'failed')
      deps.log.error({ job: job.id, cause: end.cause }, 'a render failed');
    if (signal.aborted) return;
  }
}

type End = Parameters<typeof finishJob>[2];

/**
 * @returns undefined after an internal failure: the job is rendered again when its lease has
 *   expired
 */
async function render(
  deps: LocalProviderDeps,
  job: LocalJob,
  signal: AbortSignal,
): Promise<End | undefined> {
  if (job.renders > MAX_RENDERS) return { state: 'failed', cause: 'interrupted too often' };
  const lease = new AbortController();
  const renewing = { name: 'renewing a render', log: deps.log, signal: lease.signal };
  startInterval(RENDER_LEASE_SECONDS / 3, renewing, () => renewJob(deps.db, job));
  try {
    return await deps.scratch.withFolder(async (folder) => {
      const spec = await specOf(job.spec, folder, deps.files);
      const outputPath = path.join(folder, 'render.mp4');
      const outcome = await renderVideo(spec, outputPath, { signal });
      if (outcome.kind === 'aborted') return { state: 'queued' };
      if (outcome.kind === 'failed') return endOfFailure(outcome.cause);
      return { state: 'succeeded', objectId: await deps.files.keep(outputPath, job.id) };
    });
  } catch (error) {
    deps.log.warn({ err: error, job: job.id }, 'a render was interrupted');
    return undefined;
  } finally {
    lease.abort();
  }
}

/** @throws Error when the disk is full: an internal failure, so the job is rendered again later */
function endOfFailure(cause: string): End {
  if (/ENOSPC|no space left/i.test(cause)) throw new Error(cause);
  return { state: 'failed', cause };
}

async function specOf(job: JobSpec, folder: string, files: RenderFiles): Promise<RenderSpec> {
  const inputs = await Promise.all(
    job.inputs.map(async ({ role, objectId }, index) => {
      const filePath = path.join(folder, `input-${index}`);
      await writeStream(await files.open(objectId), filePath);
      return { role, filePath };
    }),
  );
  const filesOf = (role: string) => inputs.filter((input) => input.role === role);
  const { prompt, seed, mode } = job;
  return {
    prompt,
    seed,
    durationSeconds: job.duration,
    generateAudio: job.generate_audio,
    mode,
    ...frameSize(job.resolution, job.aspect_ratio),
    firstFramePath: filesOf('first_frame')[0]?.filePath,
    lastFramePath: filesOf('last_frame')[0]?.filePath,
    referenceImagePaths: filesOf('reference_image').map((input) => input.filePath),
    referenceVideoPaths: filesOf('reference_video').map((input) => input.filePath),
  };
}
