import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { GenerateRequest, VideoRequest } from '@framewright/client';
import { stateFolder, syncFolder, writeSynced } from './folders.ts';

/** An unfinished generation, written to disk before anything is sent. */
export interface Entry {
  version: 1;
  idempotencyKey: string;
  baseUrl: string;
  /** A hash of the API key with which the generation was begun. */
  keyMark: string;
  /** The original request; its files have absolute paths. */
  request: GenerateRequest;
  /** The file to write; null for one in `folder` that is named after the task. */
  output: string | null;
  folder: string;
  /** Whether somebody agreed to the price. Otherwise nothing is created. */
  isAgreed: boolean;
  /** The create's body, once its files are uploaded. Once sent, it never changes. */
  body: VideoRequest | null;
  taskId: string | null;
  createdAt: string;
}

const TOUCH_MS = 10_000;
/** An older lock's process is dead or suspended, even if another process has its pid now. */
const STALE_MS = 60_000;

/** The lock files of this process. */
const locks: string[] = [];

const folder = () => path.join(stateFolder(), 'generations');
const fileOf = (idempotencyKey: string) => path.join(folder(), `${idempotencyKey}.json`);

/** Writes an entry. Once it returns, the entry survives a crash of the machine. */
export function record(entry: Entry): void {
  writeSynced(fileOf(entry.idempotencyKey), `${JSON.stringify(entry, null, 2)}\n`);
}

export function forget({ idempotencyKey }: Entry): void {
  rmSync(fileOf(idempotencyKey), { force: true });
  syncFolder(folder());
}

/** @returns undefined if the entry was finished or forgotten */
export function readEntry(idempotencyKey: string): Entry | undefined {
  try {
    const entry = JSON.parse(readFileSync(fileOf(idempotencyKey), 'utf8'));
    return entry.version === 1 ? entry : undefined;
  } catch {
    return undefined;
  }
}

/** Oldest first. */
export function listEntries(): Entry[] {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  return readdirSync(folder())
    .filter((name) => name.endsWith('.json'))
    .map((name) => readEntry(name.slice(0, -'.json'.length)))
    .filter((entry) => entry !== undefined)
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}

/**
 * Locks an entry until this process ends, by a file with its pid. The lock only saves work: two
 * processes that find a stale one at the same moment may both get it.
 * @returns false if another process is working on it
 */
export function takeEntry(idempotencyKey: string): boolean {
  const file = path.join(stateFolder(), 'locks', idempotencyKey);
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  if (isLocked(file)) return false;
  rmSync(file, { force: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
  } catch {
    return false;
  }
  if (locks.push(file) === 1) keepLocks();
  return true;
}

function keepLocks(): void {
  setInterval(() => locks.forEach(touch), TOUCH_MS).unref();
  process.once('exit', () => {
    for (const file of locks) rmSync(file, { force: true });
  });
}

function touch(file: string): void {
  const now = new Date();
  try {
    utimesSync(file, now, now);
  } catch {} // another process took it while this one was suspended
}

function isLocked(file: string): boolean {
  try {
    const isFresh = Date.now() - statSync(file).mtimeMs < STALE_MS;
    return isFresh && process.kill(Number(readFileSync(file, 'utf8')), 0);
  } catch {
    return false;
  }
}
