import { createHash } from 'node:crypto';
import path from 'node:path';
import { nearestAspectRatio } from '../catalog/frame-size.ts';
import { firstRefusal, type InputRefusal, refusedInputs } from '../catalog/input-refusal.ts';
import { INPUT_BYTES } from '../catalog/limits.ts';
import type { AspectRatio } from '../catalog/models.ts';
import { lengthProblem, referenceRules, shortSideProblem } from '../catalog/reference-rules.ts';
import { inputsOf, type RequestedInput, uploadIdOf } from '../catalog/request.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { type ScratchDirectory, writeStream } from '../kernel/scratch-directory.ts';
import type { Measurement, Measurer, MediaFacts } from '../media/measure.ts';
import { copyWithoutFlaws } from '../media/without-flaws.ts';
import { ByteBudget } from '../outbound/byte-budget.ts';
import type { GuardedFetch } from '../outbound/guarded-fetch.ts';
import { OutboundError } from '../outbound/refusal.ts';
import { ROLES } from '../providers/provider.ts';
import { markReadyWith, markUnfinished, storeFile } from '../storage/objects.ts';
import { ObjectMissing, type Storage } from '../storage/storage.ts';
import { reportIfVanished } from '../storage/vanished.ts';
import type { Task, TaskInput } from '../tasks/task.ts';
import { move, moveNow, type StepResult } from '../tasks/transitions.ts';
import { UNKNOWN_UPLOAD, useUploads } from '../uploads/uploads.ts';

export interface IngestDeps {
  db: Database;
  log: Log;
  storage: Storage;
  scratch: ScratchDirectory;
  guardedFetch: GuardedFetch;
  measurer: Pick<Measurer, 'measure'>;
  credentials?: { namesInputs: boolean } | undefined;
}

class MediaRefused extends Error {
  readonly refusal: InputRefusal;

  constructor(
    input: RequestedInput,
    reason: string,
    message: string,
    measured?: Record<string, unknown>,
  ) {
    super(reason);
    this.refusal = { input, reason, message, measured };
  }
}

/** Thrown when files are refused: the task fails with this public message and these details. */
class InputsRefused extends Error {
  readonly details: Record<string, unknown>;

  constructor(first: MediaRefused, all: MediaRefused[]) {
    const { message, details } = firstRefusal(first.refusal);
    super(message);
    this.details = { ...details, ...refusedInputs(all.map(({ refusal }) => refusal)) };
  }
}

/** Without files to ingest, a new task can be submitted at once. */
export async function startTask({ db }: IngestDeps, task: Task): Promise<StepResult> {
  if (inputsOf(task.request).length > 0) return moveNow(db, task, { to: 'ingesting' });
  const changes = { aspectRatio: chooseRatio(task, []) };
  const moved = await moveNow(db, task, { to: 'submitting', changes });
  return { ...moved, is_unattempted: true };
}

/**
 * Each file is fetched within one shared byte budget, decoded in full, measured and stored. After a
 * refused file the others are checked for two more seconds, and the task fails with its refund.
 */
export async function ingest(deps: IngestDeps, task: Task): Promise<StepResult> {
  await markUnfinished(deps.db, { ownerId: task.id, role: 'input' });
  try {
    const inputs = await copyAll(deps, task);
    const changes = { inputs, aspectRatio: chooseRatio(task, inputs) };
    const ids = inputs.map((input) => input.objectId);
    return await markReadyWith(deps.db, { ids, retentionDays: null }, (tx) =>
      move(tx, task, { to: 'submitting', changes }),
    );
  } catch (error) {
    if (!(error instanceof InputsRefused)) throw error;
    const { message, details } = error;
    const failure = { code: 'invalid_media', message, details } as const;
    return moveNow(deps.db, task, { to: 'failed', changes: { error: failure } });
  }
}

/**
 * How long the other files are checked after the first refusal. Checking them all would let the
 * slowest host delay the failure.
 */
const MORE_REFUSALS_MS = 2000;

async function copyAll(deps: IngestDeps, task: Task): Promise<TaskInput[]> {
  const budget = new ByteBudget(INPUT_BYTES);
  const stop = new AbortController();
  const refused = new Map<RequestedInput, MediaRefused>();
  let deadline: NodeJS.Timeout | undefined;
  const inputs = inputsOf(task.request);
  const copies = inputs.map(async (input) => {
    try {
      return await copyInput(deps, { task, input, budget, signal: stop.signal });
    } catch (error) {
      if (stop.signal.aborted) throw error;
      if (error instanceof MediaRefused) refused.set(input, error);
      // An exhausted budget or an internal failure says nothing about the other files.
      const isAboutThisFile = error instanceof MediaRefused && error.refusal.reason !== 'too_large';
      if (isAboutThisFile) deadline ??= setTimeout(() => stop.abort(error), MORE_REFUSALS_MS);
      else stop.abort(error); // later calls change nothing, so the reason is the first failure
      throw error;
    }
  });
  await Promise.allSettled(copies);
  clearTimeout(deadline);
  const [first] = refused.values();
  if (first === undefined) {
    stop.signal.throwIfAborted();
    return Promise.all(copies);
  }
  throw new InputsRefused(
    first,
    inputs.flatMap((input) => refused.get(input) ?? []),
  );
}

interface Copy {
  task: Task;
  input: RequestedInput;
  budget: ByteBudget;
  signal: AbortSignal;
}

function copyInput(deps: IngestDeps, copy: Copy): Promise<TaskInput> {
  const { task, input, signal } = copy;
  return deps.scratch.withFolder(async (folder) => {
    const filePath = path.join(folder, 'input');
    const sha256 = await fetchTo(filePath, deps, copy);
    const { account_id: accountId } = task;
    const rules = referenceRules(input.declaredSeconds);
    const options = { accountId, source: accountId, rules, signal };
    const facts = factsOf(input, await deps.measurer.measure(filePath, input.kind, options));
    const mediaType = facts.mediaType;
    signal.throwIfAborted();
    const flawless = await copyWithoutFlaws(filePath, facts);
    const file = { filePath: flawless, ownerId: task.id, role: 'input', mediaType } as const;
    const objectId = await storeFile(deps, file);
    return { ...describe(input, facts, objectId), sha256 };
  });
}

/** @returns the file's digest, if Content Credentials name inputs */
async function fetchTo(
  filePath: string,
  deps: IngestDeps,
  copy: Copy,
): Promise<string | undefined> {
  const digest = deps.credentials?.namesInputs ? createHash('sha256') : undefined;
  try {
    const uploadId = uploadIdOf(copy.input.url);
    const bytes =
      uploadId === undefined ? await download(deps, copy) : await openUpload(deps, copy, uploadId);
    await writeStream(bytes, filePath, (part) => digest?.update(part));
    return digest?.digest('hex');
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new MediaRefused(copy.input, error.reason, error.message, error.details);
  }
}

async function download({ guardedFetch }: IngestDeps, { task, input, budget, signal }: Copy) {
  const customer = { accountId: task.account_id, taskId: task.id };
  return guardedFetch.download(input.url, { signal, customer, budget });
}

/**
 * Opens an upload. Its bytes count against the budget of the task's downloads.
 * @throws MediaRefused when the account no longer has the upload; OutboundError `too_large`
 */
async function openUpload(
  { db, storage, log }: IngestDeps,
  { task, input, budget, signal }: Copy,
  id: string,
): Promise<AsyncIterable<Uint8Array>> {
  const upload = (await useUploads(db, { accountId: task.account_id, ids: [id] })).get(id);
  if (!upload) throw new MediaRefused(input, 'unknown_upload', UNKNOWN_UPLOAD);
  budget.requireRemaining(upload.size_bytes);
  const bytes = await storage.open(id).catch(async (error: unknown) => {
    if (!(error instanceof ObjectMissing)) throw error;
    await reportIfVanished({ db, log }, id);
    throw new MediaRefused(input, 'unknown_upload', UNKNOWN_UPLOAD);
  });
  return countBytes(bytes, budget, signal);
}

async function* countBytes(
  bytes: AsyncIterable<Uint8Array>,
  budget: ByteBudget,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const part of bytes) {
    signal.throwIfAborted();
    budget.take(part.length);
    yield part;
  }
}

/** @throws MediaRefused when the file is refused or breaks a rule */
function factsOf(input: RequestedInput, measurement: Measurement): MediaFacts {
  switch (measurement.kind) {
    case 'refused': {
      const { reason, explanation, limit } = measurement;
      throw new MediaRefused(input, reason, explanation, limit === undefined ? {} : { limit });
    }
    case 'stopped': {
      const { broken } = measurement;
      if (broken.rule === 'shortSide') checkShortSide(input, broken);
      else checkDuration(input, broken.durationSeconds);
      throw new Error(`the decoding ended early for no reason: ${JSON.stringify(broken)}`);
    }
    case 'measured': {
      const { facts } = measurement;
      if (facts.kind === 'image') return facts;
      checkShortSide(input, facts);
      checkDuration(input, facts.durationSeconds);
      return facts;
    }
  }
}

function checkShortSide(input: RequestedInput, size: { width: number; height: number }): void {
  const problem = shortSideProblem(size);
  if (problem) throw new MediaRefused(input, problem.reason, problem.message, problem.details);
}

function checkDuration(input: RequestedInput, durationSeconds: number): void {
  const declared = { declared_seconds: input.declaredSeconds };
  const problem = lengthProblem(durationSeconds);
  if (problem) {
    const details = { ...declared, ...problem.details };
    throw new MediaRefused(input, problem.reason, problem.message, details);
  }
  const measured = Math.round(durationSeconds);
  if (measured !== input.declaredSeconds) {
    const message = `declared ${input.declaredSeconds} s, measured ${durationSeconds} s.`;
    const exact = { measured_seconds: measured, measured_seconds_exact: durationSeconds };
    throw new MediaRefused(input, 'duration_mismatch', message, { ...declared, ...exact });
  }
}

function describe(input: RequestedInput, facts: MediaFacts, objectId: string): TaskInput {
  const { width, height, mediaType } = facts;
  const durationSeconds = facts.kind === 'video' ? facts.durationSeconds : null;
  const { field, entry } = input;
  return { field, entry, role: ROLES[field], objectId, mediaType, width, height, durationSeconds };
}

/**
 * For `adaptive`: the ratio nearest to the first image's, else to the first video's, else 16:9
 * (C18).
 */
function chooseRatio(task: Task, inputs: TaskInput[]): AspectRatio {
  if (task.request.aspect_ratio !== 'adaptive') return task.request.aspect_ratio;
  const isVideo = (input: TaskInput) => input.role === 'reference_video';
  const file = inputs.find((input) => !isVideo(input)) ?? inputs.find(isVideo);
  return file ? nearestAspectRatio(file.width, file.height) : '16:9';
}
