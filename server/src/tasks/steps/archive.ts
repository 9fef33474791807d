import { writeFile } from 'node:fs/promises';
import { inputsOf } from '../../catalog/request.ts';
import { type Database, type Transaction, together } from '../../database/database.ts';
import { NotTogether, sharedWork } from '../../database/shared-work.ts';
import { type ScratchDirectory, writeStream } from '../../kernel/scratch-directory.ts';
import { settle } from '../../ledger/ledger.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import type { DecodedFrames, Measurement, Measurer, MediaFacts } from '../../media/measure.ts';
import { POSTER_SIDE } from '../../media/poster/poster.ts';
import { OutputGone, type Provider } from '../../providers/provider.ts';
import { type LocalFile, markForDeletion, markReady } from '../../storage/objects.ts';
import { type OutputFile, type PutOutput, withOutputs } from '../../storage/outputs.ts';
import type { Storage } from '../../storage/storage.ts';
import { report, secondsSince } from '../../telemetry/reports.ts';
import type { Task } from '../task.ts';
import {
  type Changes,
  creditsOf,
  type Move,
  moveNow,
  moveRows,
  type StepResult,
  superseded,
} from '../transitions.ts';
import { recheckDelaySeconds } from './generate.ts';
import { type Expectation, outputDifferences } from './output-check.ts';
import { rememberingMeasurer } from './remembering-measurer.ts';

export interface ArchiveDeps {
  db: Database;
  storage: Storage;
  scratch: ScratchDirectory;
  /** Not the measurer of the inputs: clients' files may keep that one busy for a long time. */
  outputMeasurer: Measurer;
  /** Which frames of an output are decoded. */
  outputFrames: DecodedFrames;
  /** Whether outputs get a poster. */
  drawsPosters: boolean;
  providerOf(task: Task): Provider;
  retentionDays: number;
  reconcileSeconds: number;
}

/**
 * Copies the result into the service's own storage: fetches it, checks it, compares it with the
 * request, stores it, and only then completes the task. Differences are recorded. The task
 * fails because of them if the provider promises exact output; otherwise the video is delivered
 * with them. Failures are retried for as long as the provider keeps results; then, or when the
 * result is gone or is not a usable video, the task is held.
 */
export async function archive(deps: ArchiveDeps, task: Task): Promise<StepResult> {
  try {
    return await deps.scratch.withFiles((newPath) => archiveThrough(newPath, deps, task));
  } catch (error) {
    if (error instanceof OutputGone) return hold(deps, task, error.message);
    if (task.phase_seconds < lifeSeconds(deps, task)) throw error;
    return hold(deps, task, `the output could not be fetched in time: ${error}`);
  }
}

function lifeSeconds(deps: ArchiveDeps, task: Task): number {
  return deps.providerOf(task).capabilities.outputLifeSeconds;
}

async function archiveThrough(
  newPath: (name: string) => string,
  deps: ArchiveDeps,
  task: Task,
): Promise<StepResult> {
  const { storage } = deps;
  const filePath = newPath('output');
  const bytes = await deps.providerOf(task).openOutput(task.provider_output ?? {});
  const sizeBytes = await writeStream(bytes, filePath);
  const file = { filePath, sizeBytes, posterPath: newPath('poster') };
  if (storage.copies) return storeWhileChecked(deps, task, file);
  const isPrepared = storage.prepare !== undefined;
  const preparing = storage.prepare?.(filePath) ?? Promise.resolve();
  const [judged] = await together(judge(deps, task, file), preparing);
  return storeChecked(deps, task, { ...file, isPrepared }, judged);
}

interface Downloaded extends LocalFile {
  sizeBytes: number;
  /** Where its poster is written, if it gets one. */
  posterPath: string;
}

/** What the check of an output says: it is to be stored, or the task takes another way. */
type Judgement =
  | { kind: 'usable'; facts: MediaFacts; differences: string[]; poster: OutputFile | undefined }
  | { kind: 'unusable'; goOn(): Promise<StepResult> };

async function judge(deps: ArchiveDeps, task: Task, file: Downloaded): Promise<Judgement> {
  const measured = await check(deps, task, file.filePath);
  if (measured.kind === 'refused') {
    return { kind: 'unusable', goOn: () => hold(deps, task, measured.explanation) };
  }
  if (measured.kind === 'stopped') throw new Error('a decode without rules was stopped');
  const { facts, poster } = measured;
  const differences = outputDifferences(expectationOf(task), facts);
  if (deps.providerOf(task).capabilities.exactOutput && differences.length > 0) {
    return { kind: 'unusable', goOn: () => moveNow(deps.db, task, notExact(differences)) };
  }
  const drawn = poster && (await writePoster(file.posterPath, poster));
  return { kind: 'usable', facts, differences, poster: drawn };
}

async function writePoster(filePath: string, poster: Buffer): Promise<OutputFile> {
  await writeFile(filePath, poster, { mode: 0o600 });
  return { filePath, role: 'poster', mediaType: 'image/webp', sizeBytes: poster.length };
}

async function storeChecked(
  deps: ArchiveDeps,
  task: Task,
  file: Downloaded,
  judged: Judgement,
): Promise<StepResult> {
  if (judged.kind === 'unusable') return judged.goOn();
  const { poster } = judged;
  const video = { ...file, role: 'output', mediaType: judged.facts.mediaType } as const;
  return withOutputs(deps, task.id, poster ? [video, poster] : [video], ({ put }) =>
    complete(deps, task, judged, { storing: put(video), put }),
  );
}

/** What nearly all outputs are; another type is registered once it is known. */
const USUAL_TYPE = 'video/mp4';

/** Stores an output beside its check, and withdraws it if that fails. */
async function storeWhileChecked(
  deps: ArchiveDeps,
  task: Task,
  file: Downloaded,
): Promise<StepResult> {
  const video = { ...file, role: 'output', mediaType: USUAL_TYPE } as const;
  return withOutputs(deps, task.id, [video], async ({ put, withdraw }) => {
    const storing = put(video);
    const [judged] = await together(judge(deps, task, file), storing);
    if (judged.kind === 'usable' && judged.facts.mediaType === USUAL_TYPE) {
      return complete(deps, task, judged, { storing, put });
    }
    await withdraw();
    return storeChecked(deps, task, file, judged);
  });
}

/** A difference that fails the task is decided on all frames. */
async function check(deps: ArchiveDeps, task: Task, filePath: string): Promise<Measurement> {
  const { exactOutput, repeatsOutputs } = deps.providerOf(task).capabilities;
  const { outputMeasurer, outputFrames: frames } = deps;
  const measurer = repeatsOutputs ? rememberingMeasurer(outputMeasurer) : outputMeasurer;
  const options = {
    accountId: task.account_id,
    source: task.provider,
    // All test videos look the same.
    ...(deps.drawsPosters && task.surface !== TEST_SURFACE && { posterSide: POSTER_SIDE }),
  };
  const measured = await measurer.measure(filePath, 'video', { ...options, frames });
  if (!exactOutput || frames === 'all' || measured.kind !== 'measured') return measured;
  const differences = outputDifferences(expectationOf(task), measured.facts);
  return differences.length === 0 ? measured : measurer.measure(filePath, 'video', options);
}

async function complete(
  deps: ArchiveDeps,
  task: Task,
  { facts, differences, poster }: Extract<Judgement, { kind: 'usable' }>,
  { storing, put }: { storing: Promise<string>; put: PutOutput },
): Promise<StepResult> {
  const outputFacts = { ...facts, differences };
  const isTest = task.surface === TEST_SURFACE;
  const retentionDays = Math.min(deps.retentionDays, isTest ? TEST_DAYS : deps.retentionDays);
  const completeShared = isTest ? completeTests : completeLive;
  const [outputObjectId, posterId] = await together(
    storing,
    poster ? storePoster(() => put(poster)) : Promise.resolve(undefined),
  );
  const changes = { outputObjectId, outputFacts };
  const objectIds = posterId ? [outputObjectId, posterId] : [outputObjectId];
  return completeShared(deps.db, { task, objectIds, changes, retentionDays });
}

/**
 * Stores the poster that was drawn with the check. If that fails, the task goes on, and its poster
 * is drawn again later.
 */
async function storePoster(store: () => Promise<string>): Promise<string | undefined> {
  const startedAt = performance.now();
  const posterId = await store().catch(() => undefined);
  const outcome = posterId ? 'drawn' : 'failed';
  report('poster', { outcome, seconds: secondsSince(startedAt) });
  return posterId;
}

/** How long the output of a test task is kept at most. */
const TEST_DAYS = 1;

interface Completion {
  task: Task;
  /** The output, and its poster if there is one. */
  objectIds: string[];
  changes: Changes;
  retentionDays: number;
}

/**
 * Completes tasks, captures their credits and makes their outputs ready. Tasks of different
 * accounts that arrive together share the transaction, if their outputs are kept equally long.
 */
const shared = () =>
  sharedWork<Completion, Task>({
    keyOf: ({ task }) => task.account_id,
    work: (db, items) => db.transaction((tx) => completeAll(tx, items)),
  });
const completeLive = shared();
const completeTests = shared();

// All code locks a task before its balance and its objects, so nothing deadlocks.
async function completeAll(tx: Transaction, items: Completion[]): Promise<Task[]> {
  const withInputs = items.filter(({ task }) => inputsOf(task.request).length > 0);
  const steps = items.map(({ task, changes }) => ({
    task,
    step: { to: 'completed', changes } as const,
  }));
  const objectIds = items.flatMap((item) => item.objectIds);
  const moving = moveRows(tx, steps);
  const ending = together(
    settle(
      tx,
      'capture',
      items.map(({ task }) => creditsOf(task)),
    ),
    markForDeletion(
      tx,
      withInputs.map(({ task }) => task.id),
      ['input'],
    ),
    markReady(tx, objectIds, items[0]?.retentionDays ?? null),
  );
  await Promise.allSettled([moving, ending]);
  const completed = (await moving).filter((task) => task !== undefined);
  // Asked first: a task that another worker has completed can't be captured again.
  if (completed.length < items.length) throw notLeased(items);
  await ending;
  return completed;
}

function notLeased(items: Completion[]): Error {
  const [first] = items;
  if (items.length > 1 || !first) return new NotTogether('not every task is leased');
  return superseded(first.task);
}

function expectationOf(task: Task): Expectation {
  const { resolution, duration, generate_audio: audio } = task.request;
  const aspectRatio = task.aspect_ratio ?? '16:9';
  return { resolution, aspectRatio, durationSeconds: duration, audio };
}

/** Delays the next read of the job: a read right away would give the same result. */
async function hold(deps: ArchiveDeps, task: Task, reason: string): Promise<'postponed'> {
  const changes = { heldCause: 'outcome' } as const;
  const delaySeconds = recheckDelaySeconds(deps, task);
  await moveNow(deps.db, task, { to: 'held', changes, cause: { output: reason }, delaySeconds });
  return 'postponed';
}

function notExact(differences: string[]): Move {
  const message = 'The video of the provider is not as requested. The credits are refunded.';
  const error = { code: 'provider_failed', message } as const;
  return { to: 'failed', changes: { error, providerBilled: false }, cause: { differences } };
}
