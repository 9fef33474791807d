import path from 'node:path';
import type { RenderSpec } from 'local-renderer';
import { frameSize } from '../../catalog/frame-size.ts';
import { startInterval } from '../../kernel/interval.ts';
import { writeStream } from '../../kernel/scratch-directory.ts';
import { markReady, markUnfinished, storeFile } from '../../storage/objects.ts';
import { ObjectMissing } from '../../storage/storage.ts';
import type { AdapterDeps } from '../definition.ts';
import {
  type Adapter,
  type Capabilities,
  type JobSpec,
  type JobStatus,
  OutputGone,
  type OutputReference,
} from '../provider.ts';
import {
  cancel,
  findJob,
  finishJob,
  type LocalJob,
  markRenderLost,
  RENDER_GONE,
  RENDER_LEASE_SECONDS,
  type RenderEnd,
  readStatus,
  renewJob,
  submitJob,
  takeJob,
} from './jobs.ts';
import { renderVideo } from './render.ts';

export type LocalProviderDeps = Pick<AdapterDeps, 'db' | 'storage' | 'scratch' | 'log'>;

/** Two days: a render that is not done by then will never be done. */
const JOB_LIMIT_SECONDS = 172_800;
/** How long a finished render is kept for the service to copy it. */
const RENDER_DAYS = 1;

const CAPABILITIES: Capabilities = {
  exactOutput: true,
  drawsPatterns: true,
  findLagSeconds: 0,
  jobLimitSeconds: JOB_LIMIT_SECONDS,
  outputLifeSeconds: RENDER_DAYS * 86_400,
  budgets: {},
};

/** A job fails after this many interrupted renders: they probably kill their process. */
const MAX_RENDERS = 50;
/** How often to look for jobs that another process has accepted or abandoned. */
const LOOK_SECONDS = 2;

/**
 * The local renderer as a provider. Any process that has called `start` renders a job in a child
 * process. Finds are exact: a find that finds no job bars the attempt.
 */
export function createLocalProvider(deps: LocalProviderDeps): Adapter {
  const { db } = deps;
  const stopping = new AbortController();
  let rendering: Promise<void> = Promise.resolve();
  let lookForJobs = () => {};
  return {
    identity: 'local',
    capabilities: CAPABILITIES,
    async submit(jobSpec, mayStillSend) {
      const outcome = await submitJob(db, jobSpec, mayStillSend);
      lookForJobs();
      return outcome;
    },
    find: ({ jobSpec }) => findJob(db, jobSpec.attemptId),
    read: (jobId) => readStatus(db, jobId, endOf),
    cancel: (jobId) => cancel(db, jobId),
    openOutput: (output) => openRender(deps, output),
    start() {
      const { signal } = stopping;
      const options = { name: 'rendering', log: deps.log, signal };
      lookForJobs = startInterval(LOOK_SECONDS, options, () => {
        rendering = renderAll(deps, signal);
        return rendering;
      });
    },
    async stop() {
      stopping.abort();
      await rendering.catch(() => {});
    },
  };
}

function endOf(job: LocalJob): JobStatus {
  if (job.state === 'succeeded') {
    return { kind: 'succeeded', output: { object: job.object_id ?? '', job: job.id } };
  }
  if (job.cause === RENDER_GONE) {
    const message = 'The local render was deleted before it was copied.';
    return { kind: 'failed', code: 'generation_expired', message, billed: false };
  }
  const message = 'The local renderer could not make this video.';
  return { kind: 'failed', code: 'provider_failed', message, billed: false };
}

/** If the render was deleted, its job fails, so the task is refunded at the next read. */
async function openRender(
  { db, storage }: LocalProviderDeps,
  { object = '', job }: OutputReference,
) {
  try {
    return await storage.open(object);
  } catch (error) {
    if (!(error instanceof ObjectMissing)) throw error;
    if (job !== undefined) await markRenderLost(db, job);
    throw new OutputGone(RENDER_GONE, { cause: error });
  }
}

/** Renders jobs until none waits, or the signal aborts. */
async function renderAll(deps: LocalProviderDeps, signal: AbortSignal): Promise<void> {
  for (let job = await takeJob(deps.db); job; job = await takeJob(deps.db)) {
    const end = await render(deps, job, signal);
    if (end) await finishJob(deps.db, job, end);
    if (end?.state === 'failed')
      deps.log.error({ job: job.id, cause: end.cause }, 'a render failed');
    if (signal.aborted) return;
  }
}

/** @returns undefined after an internal failure: the job is rendered again when the lease ends */
async function render(
  deps: LocalProviderDeps,
  job: LocalJob,
  signal: AbortSignal,
): Promise<RenderEnd | undefined> {
  const { db, log, scratch } = deps;
  if (job.renders > MAX_RENDERS) return { state: 'failed', cause: 'interrupted too often' };
  const lease = new AbortController();
  const renewing = { name: 'renewing a render', log, signal: lease.signal };
  startInterval(RENDER_LEASE_SECONDS / 3, renewing, () => renewJob(db, job.id, job.renders));
  try {
    return await scratch.withFolder(async (folder) => {
      const spec = await specOf(deps, job.spec, folder);
      const outputPath = path.join(folder, 'render.mp4');
      const outcome = await renderVideo(spec, outputPath, signal);
      if (outcome.kind === 'aborted') return { state: 'queued' };
      if (outcome.kind === 'failed') return endOfFailure(outcome.cause);
      return { state: 'succeeded', objectId: await keepRender(deps, outputPath, job.id) };
    });
  } catch (error) {
    log.warn({ err: error, job: job.id }, 'a render was interrupted');
    return undefined;
  } finally {
    lease.abort();
  }
}

/** @throws Error when the disk is full: an internal failure, so the job is rendered again later */
function endOfFailure(cause: string): RenderEnd {
  if (/ENOSPC|no space left/i.test(cause)) throw new Error(cause);
  return { state: 'failed', cause };
}

async function keepRender({ db, storage }: LocalProviderDeps, filePath: string, jobId: string) {
  const file = { filePath, ownerId: jobId, role: 'render', mediaType: 'video/mp4' } as const;
  // Discards what an earlier, interrupted render may have left.
  await markUnfinished(db, { ownerId: jobId, role: 'render' });
  const objectId = await storeFile({ db, storage }, file);
  await markReady(db, [objectId], RENDER_DAYS);
  return objectId;
}

async function specOf(
  { storage }: LocalProviderDeps,
  job: JobSpec,
  folder: string,
): Promise<RenderSpec> {
  const inputs = await Promise.all(
    job.inputs.map(async ({ role, objectId }, index) => {
      const filePath = path.join(folder, `input-${index}`);
      await writeStream(await storage.open(objectId), filePath);
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
