import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A TypeScript file of the repository. */
export interface Source {
  /** Relative to the root, with forward slashes. */
  name: string;
  text: string;
}

const FOLDERS = ['server', 'simulators', 'acceptance', 'bench'];

async function readFolder(folder: string): Promise<Source[]> {
  const entries = await readdir(path.join(ROOT, folder), { recursive: true, withFileTypes: true });
  const wanted = entries.filter(
    (entry) =>
      entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'),
  );
  return Promise.all(
    wanted.map(async (entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(ROOT, file).replaceAll(path.sep, '/');
      return { name, text: await readFile(file, 'utf8') };
    }),
  );
}

/** Every TypeScript file in the folders of the repository, tests and test kits included. */
export const sources = (await Promise.all(FOLDERS.map(readFolder))).flat();

/** What the service runs: no tests, no test kits. */
export const product = sources.filter(
  ({ name }) => name.startsWith('server/src/') && !name.endsWith('.test.ts'),
);

/** The files that a source imports by a relative path, type imports included. */
export function importsOf({ name, text }: Source): string[] {
  const targets = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)];
  const folder = path.posix.dirname(name);
  return targets.map(([, target = '']) => path.posix.join(folder, target));
}
