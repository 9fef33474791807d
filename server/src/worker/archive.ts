import { createHash, hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { frameSize } from '../catalog/frame-size.ts';
import type { AspectRatio, Resolution } from '../catalog/models.ts';
import { type Database, type Transaction, together } from '../database/database.ts';
import { RetryAlone, sharedWork } from '../database/shared-work.ts';
import { evictOldest } from '../kernel/evict-oldest.ts';
import { type ScratchDirectory, writeStream } from '../kernel/scratch-directory.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import type {
  DecodedFrames,
  Measurement,
  MeasureOptions,
  Measurer,
  MediaFacts,
} from '../media/measure.ts';
import { OutputGone, type Provider } from '../providers/provider.ts';
import { markReady } from '../storage/objects.ts';
import { type OutputFile, withOutputs } from '../storage/outputs.ts';
import type { Storage } from '../storage/storage.ts';
import type { Task } from '../tasks/task.ts';
import {
  type Changes,
  endTasks,
  type Move,
  moveNow,
  moveRows,
  type StepResult,
  superseded,
} from '../tasks/transitions.ts';
import { report, secondsSince } from '../telemetry/reports.ts';
import { addCredentials, type CredentialsDeps, NotSigned, signPoster } from './add-credentials.ts';
import { recheckDelaySeconds } from './generate.ts';

export interface ArchiveDeps {
  db: Database;
  storage: Storage;
  scratch: ScratchDirectory;
  /** Not the inputs' measurer, which clients' files may keep busy for long. */
  outputMeasurer: Pick<Measurer, 'measure'>;
  outputFrames: DecodedFrames;
  drawsPosters: boolean;
  /** undefined: outputs are stored as the provider made them. */
  credentials: CredentialsDeps | undefined;
  providerOf(task: Task): Provider;
  retentionDays: number;
  reconcileSeconds: number;
}

/**
 * Fetches the result, checks it, compares it with the request, stores it, and only then completes
 * the task. Differences are recorded, and fail the task if the provider promises exact output.
 * Failures are retried for as long as the provider keeps results; then, or when the result is gone
 * or not a usable video, the task is held.
 */
export async function archive(deps: ArchiveDeps, task: Task): Promise<StepResult> {
  try {
    return await deps.scratch.withFiles((newPath) => archiveFiles(newPath, deps, task));
  } catch (error) {
    if (error instanceof OutputBlocked) return moveNow(deps.db, task, failBlocked());
    if (error instanceof OutputGone || error instanceof NotSigned) {
      return hold(deps, task, error.message);
    }
    const { outputLifeSeconds } = deps.providerOf(task).capabilities;
    if (task.phase_seconds < outputLifeSeconds) throw error;
    return hold(deps, task, `the output could not be fetched in time: ${error}`);
  }
}

async function archiveFiles(
  newPath: (name: string) => string,
  deps: ArchiveDeps,
  task: Task,
): Promise<StepResult> {
  const { storage } = deps;
  const filePath = newPath('output');
  const provider = deps.providerOf(task);
  const bytes = await provider.openOutput(task.provider_output ?? {});
  const digest = createHash('sha256');
  const sizeBytes = await writeStream(bytes, filePath, (part) => digest.update(part));
  const isPrepared = !deps.credentials; // signing makes another file
  const preparing = (isPrepared && storage.prepare?.(filePath)) || Promise.resolve();
  const [checked] = await together(check(deps, task, filePath), preparing);
  if (checked.kind === 'refused') return hold(deps, task, checked.explanation);
  if (checked.kind === 'stopped') throw new Error('an output has no rules, but its decode stopped');
  const { facts, poster, hashes: frameHashes = [] } = checked;
  const differences = outputDifferences(expectationOf(task), facts);
  if (provider.capabilities.exactOutput && differences.length > 0) {
    return moveNow(deps.db, task, failInexact(differences));
  }
  const fetched = { filePath, sizeBytes, sha256: digest.digest('hex') };
  const signed = await addCredentials(deps, task, { ...fetched, signedPath: newPath('signed') });
  const { credentials, ...file } = signed;
  const { mediaType } = facts;
  const sourceSha256 = fetched.sha256;
  const found = { sourceSha256, frameHashes, mediaType };
  const video = { ...file, ...found, role: 'output', isPrepared } as const;
  const drawn =
    poster &&
    (await signPoster(deps, task, {
      poster: await writePoster(newPath('poster'), poster),
      signedPath: newPath('signed-poster'),
      video: credentials,
    }));
  return withOutputs(deps, task.id, drawn ? [video, drawn] : [video], async (put, isBlocked) => {
    // All tasks of test keys have the same few videos, so a block of one must not fail them.
    if (isBlocked && !provider.capabilities.repeatsOutputs) throw new OutputBlocked();
    const [outputObjectId, posterId] = await together(
      put(video),
      drawn ? storePoster(() => put(drawn)) : Promise.resolve(undefined),
    );
    const objectIds = posterId ? [outputObjectId, posterId] : [outputObjectId];
    const changes = { outputObjectId, outputFacts: { ...facts, differences, credentials } };
    return complete(deps, { task, objectIds, changes });
  });
}

async function writePoster(filePath: string, poster: Buffer): Promise<OutputFile> {
  await writeFile(filePath, poster, { mode: 0o600 });
  return { filePath, role: 'poster', mediaType: 'image/webp', sizeBytes: poster.length };
}

/** A difference that would fail the task is confirmed on all frames. */
async function check(deps: ArchiveDeps, task: Task, filePath: string): Promise<Measurement> {
  const { exactOutput, repeatsOutputs, drawsPatterns } = deps.providerOf(task).capabilities;
  const { outputMeasurer, outputFrames: frames } = deps;
  const options = {
    accountId: task.account_id,
    source: task.provider,
    hashUse: drawsPatterns ? null : ('stored' as const), // patterns look the same
    drawsPoster: deps.drawsPosters && task.surface !== TEST_SURFACE, // test videos look the same
  };
  const measure = (asked: MeasureOptions) =>
    repeatsOutputs
      ? measureCached(outputMeasurer, filePath, asked)
      : outputMeasurer.measure(filePath, 'video', asked);
  const measured = await measure({ ...options, frames });
  if (!exactOutput || frames === 'all' || measured.kind !== 'measured') return measured;
  const differences = outputDifferences(expectationOf(task), measured.facts);
  return differences.length === 0 ? measured : measure(options);
}

/** If the poster can't be stored, the task completes without it. */
async function storePoster(store: () => Promise<string>): Promise<string | undefined> {
  const startedAt = performance.now();
  const posterId = await store().catch(() => undefined);
  const outcome = posterId ? 'drawn' : 'failed';
  report('poster', { outcome, seconds: secondsSince(startedAt) });
  return posterId;
}

const TEST_DAYS = 1; // at most, for a test task's output

interface Completion {
  task: Task;
  /** The output, and its poster if there is one. */
  objectIds: string[];
  changes: Changes;
  retentionDays: number;
}

function complete(deps: ArchiveDeps, done: Omit<Completion, 'retentionDays'>): Promise<Task> {
  const isTest = done.task.surface === TEST_SURFACE;
  const retentionDays = isTest ? Math.min(deps.retentionDays, TEST_DAYS) : deps.retentionDays;
  return (isTest ? completeTests : completeLive)(deps.db, { ...done, retentionDays });
}

/**
 * Concurrent completions of different accounts share a transaction if their outputs are kept
 * equally long.
 */
const shareCompletions = () =>
  sharedWork<Completion, Task>({
    keyOf: ({ task }) => task.account_id,
    work: (db, items) => db.transaction((tx) => completeAll(tx, items)),
  });
const completeLive = shareCompletions();
const completeTests = shareCompletions();

// All code locks a task before its balance and its objects, so nothing deadlocks.
async function completeAll(tx: Transaction, items: Completion[]): Promise<Task[]> {
  const moves = items.map(({ task, changes }) => {
    return { task, next: { to: 'completed', changes } as const };
  });
  const objectIds = items.flatMap((item) => item.objectIds);
  const moving = moveRows(tx, moves);
  const tasks = items.map(({ task }) => task);
  const ending = together(
    endTasks(tx, tasks, 'capture'),
    markReady(tx, objectIds, items[0]?.retentionDays ?? null),
  );
  await Promise.allSettled([moving, ending]);
  const completed = (await moving).filter((task) => task !== undefined);
  // If another worker has completed a task, `ending` fails too: the task can't be captured again.
  if (completed.length < items.length) throw notLeased(items);
  await ending;
  return completed;
}

function notLeased(items: Completion[]): Error {
  const [first] = items;
  if (items.length > 1 || !first) return new RetryAlone('not every task is leased');
  return superseded(first.task);
}

function expectationOf(task: Task): Expectation {
  const { resolution, duration, generate_audio: audio } = task.request;
  const aspectRatio = task.aspect_ratio ?? '16:9';
  return { resolution, aspectRatio, durationSeconds: duration, audio };
}

/** Delays the next read of the job: an immediate one would give the same result. */
async function hold(deps: ArchiveDeps, task: Task, reason: string): Promise<'postponed'> {
  const changes = { heldCause: 'outcome' } as const;
  const delaySeconds = recheckDelaySeconds(deps, task);
  await moveNow(deps.db, task, { to: 'held', changes, cause: { output: reason }, delaySeconds });
  return 'postponed';
}

function failInexact(differences: string[]): Move {
  const message = 'The video of the provider is not as requested. The credits are refunded.';
  const error = { code: 'provider_failed', message } as const;
  return { to: 'failed', changes: { error, providerBilled: false }, cause: { differences } };
}

/** An operator took the same bytes down. */
class OutputBlocked extends Error {
  override name = 'OutputBlocked';
}

function failBlocked(): Move {
  const message = 'This video was removed from this service before. The credits are refunded.';
  const error = { code: 'content_refused', message } as const;
  const cause = { output: 'an operator took the same bytes down' };
  return { to: 'failed', changes: { error, providerBilled: true }, cause };
}

export interface Expectation {
  resolution: Resolution;
  aspectRatio: AspectRatio;
  durationSeconds: number;
  audio: boolean;
}

/** Half a frame at 24 frames a second. */
const DURATION_TOLERANCE_SECONDS = 1 / 48;

/** How a video differs from the request; each difference is one short sentence. */
export function outputDifferences(asked: Expectation, facts: MediaFacts): string[] {
  if (facts.kind !== 'video') return ['it is not a video'];
  const size = frameSize(asked.resolution, asked.aspectRatio);
  const differences: string[] = [];
  if (size.width !== facts.width || size.height !== facts.height) {
    differences.push(
      `asked for ${size.width}x${size.height}, got ${facts.width}x${facts.height} pixels`,
    );
  }
  if (Math.abs(facts.durationSeconds - asked.durationSeconds) > DURATION_TOLERANCE_SECONDS) {
    differences.push(`asked for ${asked.durationSeconds} s, got ${facts.durationSeconds} s`);
  }
  if (asked.audio !== (facts.audio !== null)) {
    differences.push(
      asked.audio ? 'the audio track is missing' : 'it has an audio track that was not requested',
    );
  }
  return differences;
}

const MAX_RESULTS = 100;

const cachedResults = new WeakMap<object, Map<string, Measurement>>();

/** For small videos that repeat: results are cached by the hash of the bytes and the options. */
async function measureCached(
  measurer: ArchiveDeps['outputMeasurer'],
  filePath: string,
  options: MeasureOptions,
): Promise<Measurement> {
  const cached = cachedResults.get(measurer) ?? new Map<string, Measurement>();
  cachedResults.set(measurer, cached);
  const { frames, drawsPoster } = options;
  const bytesHash = hash('sha256', await readFile(filePath));
  const key = `${frames} ${drawsPoster} ${bytesHash}`;
  const known = cached.get(key);
  if (known) return known;
  const measurement = await measurer.measure(filePath, 'video', options);
  evictOldest(cached, MAX_RESULTS);
  cached.set(key, measurement);
  return measurement;
}
