import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChildProgram } from '../../kernel/child.ts';

/**
 * Node's permission model: no network, no processes, no writing, and reading only the product's
 * code, its packages and the child's own folder. It restricts JavaScript only; the options of the
 * demuxer restrict FFmpeg. The permission model compares paths as they are written, so the child
 * must not replace a symbolic link, such as node_modules, by its real path.
 */
const CHILD_FLAGS = [
  '--permission',
  '--allow-addons',
  '--preserve-symlinks',
  '--disable-warning=SecurityWarning',
  ...['../../', '../../../package.json']
    .map((ours) => fileURLToPath(new URL(ours, import.meta.url)))
    .concat(packagesFolder())
    .map((readable) => `--allow-fs-read=${readable}`),
];

/** The folder in which Node finds node-av. The packages with node-av's binaries are there too. */
function packagesFolder(): string {
  const searched = createRequire(import.meta.url).resolve.paths('node-av') ?? [];
  const found = searched.find((folder) => existsSync(path.join(folder, 'node-av')));
  if (!found) throw new Error('the package node-av is not installed: run npm ci');
  return `${found}/`;
}

/** A function that makes the program of a child that reads from its own folder only. */
export function confinedProgram(script: URL): (folder: string) => ChildProgram {
  return (folder) => ({ script, nodeFlags: [...CHILD_FLAGS, `--allow-fs-read=${folder}/`] });
}
