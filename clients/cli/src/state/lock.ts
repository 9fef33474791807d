import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const TOUCH_MS = 10_000;
/** A lock that is older belongs to a process that is gone, whoever has its number now. */
const STALE_MS = 60_000;

const held: string[] = [];

/**
 * Takes a lock until this process ends: a file with the number of the process. It saves work only,
 * so two that find a stale one in the same moment may both get it.
 * @returns whether it was free
 */
export function takeLock(file: string): boolean {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  if (isHeld(file)) return false;
  rmSync(file, { force: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
  } catch {
    return false;
  }
  if (held.push(file) === 1) keepHeld();
  return true;
}

function keepHeld(): void {
  setInterval(() => held.forEach(touch), TOUCH_MS).unref();
  process.once('exit', () => {
    for (const file of held) rmSync(file, { force: true });
  });
}

function touch(file: string): void {
  const now = new Date();
  try {
    utimesSync(file, now, now);
  } catch {} // another process took it while this one was stopped
}

function isHeld(file: string): boolean {
  try {
    const isFresh = Date.now() - statSync(file).mtimeMs < STALE_MS;
    return isFresh && process.kill(Number(readFileSync(file, 'utf8')), 0);
  } catch {
    return false;
  }
}
