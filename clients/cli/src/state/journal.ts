import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { VideoRequest } from '@framewright/client';
import { stateFolder, syncFolder, writeSynced } from './folders.ts';
import { takeLock } from './lock.ts';

/** A file or an https address that a request names, and what became of the file. */
export interface Media {
  field: 'image_url' | 'end_image_url' | 'reference_image_urls' | 'reference_video_urls' | null;
  /** An absolute name of a file, or an address. */
  from: string;
  /** Its address: of the upload, once it is uploaded. */
  url: string | null;
  /** Of a reference video. */
  seconds: number | null;
}

/** An unfinished generation. It is on disk before the first byte of it is sent. */
export interface Entry {
  version: 1;
  idempotencyKey: string;
  baseUrl: string;
  /** Which API key it was begun with, without the key. */
  keyMark: string;
  /** What was asked for, without media. */
  request: VideoRequest;
  media: Media[];
  /** The file to write; null: in `folder`, named after the task. */
  output: string | null;
  folder: string;
  /** Somebody agreed to the price. Without that, nothing is created. */
  isAgreed: boolean;
  /** The body of the create. It is never changed once it was sent. */
  body: VideoRequest | null;
  taskId: string | null;
  createdAt: string;
}

const folder = () => path.join(stateFolder(), 'generations');
const fileOf = (idempotencyKey: string) => path.join(folder(), `${idempotencyKey}.json`);

/** Writes an entry. After it returns, a crash of the machine does not lose it. */
export function record(entry: Entry): void {
  writeSynced(fileOf(entry.idempotencyKey), `${JSON.stringify(entry, null, 2)}\n`);
}

/** The entry is finished. */
export function forget({ idempotencyKey }: Entry): void {
  rmSync(fileOf(idempotencyKey), { force: true });
  syncFolder(folder());
}

/** The entry as it is now; undefined if it was finished. */
export function readEntry(idempotencyKey: string): Entry | undefined {
  try {
    const entry = JSON.parse(readFileSync(fileOf(idempotencyKey), 'utf8'));
    return entry.version === 1 ? entry : undefined;
  } catch {
    return undefined;
  }
}

/** All unfinished generations, the oldest first. */
export function listEntries(): Entry[] {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  return readdirSync(folder())
    .filter((name) => name.endsWith('.json'))
    .map((name) => readEntry(name.slice(0, -'.json'.length)))
    .filter((entry) => entry !== undefined)
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}

/** Takes an entry for this process until it ends; false: another process works on it. */
export const takeEntry = (idempotencyKey: string) =>
  takeLock(path.join(stateFolder(), 'locks', idempotencyKey));
