import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { env, platform } from 'node:process';

const NAME = 'framewright';
const MAC = 'Library/Application Support';

/** A user folder: `variable` if set (XDG Base Directory), otherwise the platform's default. */
function folder(variable: string, windows: string, other: string): string {
  const chosen = env[variable];
  if (chosen && path.isAbsolute(chosen)) return path.join(chosen, NAME);
  if (platform === 'win32') return path.join(env[windows] ?? os.homedir(), NAME);
  return path.join(os.homedir(), platform === 'darwin' ? MAC : other, NAME);
}

export const configFolder = () => folder('XDG_CONFIG_HOME', 'APPDATA', '.config');
export const stateFolder = () => folder('XDG_STATE_HOME', 'LOCALAPPDATA', '.local/state');

/** Syncs a folder, so that a rename in it survives a crash. Windows can't and needn't. */
export function syncFolder(name: string): void {
  if (platform === 'win32') return;
  const descriptor = openSync(name, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Writes a file atomically, readable by its owner only. Once it returns, the text survives a crash
 * of the machine.
 */
export function writeSynced(file: string, text: string): void {
  const home = path.dirname(file);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true });
  renameSync(draft, file);
  syncFolder(home);
}
