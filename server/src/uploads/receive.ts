import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { referenceProblem, referenceRules } from '../catalog/reference-rules.ts';
import type { Database } from '../database/database.ts';
import { type ApiError, invalidRequest } from '../kernel/errors.ts';
import { type ScratchDirectory, writeStream } from '../kernel/scratch-directory.ts';
import type { Measurement, Measurer, MediaFacts } from '../media/measure.ts';
import type { BrokenRule, VideoFacts } from '../media/measurement.ts';
import { SNIFF_BYTES, sniff } from '../media/sniff.ts';
import { MAX_COMPARED_SECONDS } from '../media/video/timeline.ts';
import type { FreeSpace } from '../storage/free-space.ts';
import { markReady, putRegistered, withdrawOnFailure } from '../storage/objects.ts';
import type { Storage } from '../storage/storage.ts';
import { registerUpload, type Uploader } from './quota.ts';

export interface ReceiveDeps {
  db: Database;
  storage: Storage;
  scratch: ScratchDirectory;
  measurer: Pick<Measurer, 'measure'>;
  space: FreeSpace;
}

export interface Received {
  uploader: Uploader;
  bytes: Readable;
  /** The Content-Length. */
  sizeBytes: number;
  /** What the Content-Type says; the bytes decide. */
  expected: 'image' | 'video';
  signal: AbortSignal;
}

/**
 * Receives a file into the scratch directory, decodes it in full and copies it into the storage.
 * The object's row commits before its first byte is stored.
 * @returns the id of the upload
 * @throws ApiError `invalid_request` when the file is refused; the signal's reason when aborted;
 *   DiskFull
 */
export function receiveUpload(deps: ReceiveDeps, received: Received): Promise<string> {
  const { signal } = received;
  const { accountId } = received.uploader;
  return inScratch(deps, received, async (filePath) => {
    const kind = (await kindOf(filePath)) ?? received.expected;
    const turn = { accountId, source: accountId, signal };
    const rules = kind === 'video' ? { rules: referenceRules(null) } : {};
    const facts = factsOf(await deps.measurer.measure(filePath, kind, { ...turn, ...rules }));
    signal.throwIfAborted();
    return store(deps, { ...received, filePath, facts });
  });
}

const COMPARED = {
  hashUse: 'compared',
  rules: { belowSeconds: MAX_COMPARED_SECONDS },
} as const;

/**
 * Receives a video, hashes its frames, and deletes it.
 * @throws like {@link receiveUpload}
 */
export function hashReceived(
  deps: ReceiveDeps,
  received: Pick<Received, 'bytes' | 'sizeBytes' | 'signal'>,
): Promise<string[]> {
  return inScratch(deps, received, async (filePath) => {
    const options = { ...COMPARED, signal: received.signal };
    const measured = await deps.measurer.measure(filePath, 'video', options);
    if (measured.kind === 'measured') return measured.hashes ?? [];
    if (measured.kind === 'refused') throw refusedAs(measured);
    const limit = MAX_COMPARED_SECONDS;
    throw refuse('too_long', `The video must be shorter than ${limit} seconds.`, { limit });
  });
}

function inScratch<T>(
  { space, scratch }: ReceiveDeps,
  { bytes, sizeBytes }: Pick<Received, 'bytes' | 'sizeBytes'>,
  work: (filePath: string) => Promise<T>,
): Promise<T> {
  return space.withUploadSpace(sizeBytes, () =>
    scratch.withFolder(async (folder) => {
      const filePath = path.join(folder, 'upload');
      await writeStream(space.whileFree('upload', bytes), filePath);
      return work(filePath);
    }),
  );
}

async function kindOf(filePath: string): Promise<'image' | 'video' | undefined> {
  await using file = await open(filePath);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(SNIFF_BYTES) });
  return sniff(buffer.subarray(0, bytesRead))?.kind;
}

/** @throws ApiError `invalid_request` */
function factsOf(measurement: Measurement): MediaFacts {
  switch (measurement.kind) {
    case 'refused':
      throw refusedAs(measurement);
    case 'stopped':
      throw (
        notAReference(measurement.broken) ??
        new Error('the decoding was stopped, but no rule is broken')
      );
    case 'measured': {
      const { facts } = measurement;
      const problem = facts.kind === 'video' ? notAReference(facts) : undefined;
      if (problem) throw problem;
      return facts;
    }
  }
}

function refusedAs({ reason, explanation, limit }: Extract<Measurement, { kind: 'refused' }>) {
  return refuse(reason, explanation, limit === undefined ? {} : { limit });
}

function notAReference(seen: VideoFacts | BrokenRule): ApiError | undefined {
  const problem = referenceProblem(seen);
  if (!problem) return undefined;
  const message = `This video can't be a reference: ${problem.message}`;
  return refuse(problem.reason, message, problem.details);
}

function refuse(reason: string, message: string, details: object): ApiError {
  return invalidRequest(message, { field: 'file', reason, ...details });
}

async function store(
  { db, storage }: ReceiveDeps,
  file: Received & { filePath: string; facts: MediaFacts },
): Promise<string> {
  const { uploader, filePath, facts } = file;
  const { kind, mediaType } = facts;
  const { size: sizeBytes } = await stat(filePath);
  const id = await registerUpload(db, { uploader, kind, mediaType, sizeBytes, facts });
  await withdrawOnFailure(db, [id], async () => {
    await putRegistered({ db, storage }, id, filePath);
    await markReady(db, [id], uploader.lastsDays);
  });
  return id;
}
