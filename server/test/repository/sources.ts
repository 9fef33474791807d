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

/** npm workspaces beside the server that know nothing of tasks. */
export const WORKSPACES = ['embedded-postgres', 'local-renderer', 'simulators'];

/** The website's pages, and the program that builds them. */
export const CONSOLE = 'console';

const FOLDERS = ['server', ...WORKSPACES, CONSOLE, 'clients', 'acceptance', 'bench'];

async function readFolder(folder: string): Promise<Source[]> {
  const entries = await readdir(path.join(ROOT, folder), { recursive: true, withFileTypes: true });
  const wanted = entries.filter(
    (entry) =>
      entry.isFile() &&
      /\.tsx?$/.test(entry.name) &&
      !/node_modules|console\/dist|clients\/python/.test(entry.parentPath),
  );
  return Promise.all(
    wanted.map(async (entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(ROOT, file).replaceAll(path.sep, '/');
      return { name, text: await readFile(file, 'utf8') };
    }),
  );
}

/** Every TypeScript file, also of those with JSX, in the folders of the repository, tests and test kits included. */
export const sources = (await Promise.all(FOLDERS.map(readFolder))).flat();

/** The code of the server: no tests, no test kits. */
export const product = sources.filter(
  ({ name }) => name.startsWith('server/src/') && !name.endsWith('.test.ts'),
);

/** The code of the packages that customers install: no tests. */
export const clientCode = sources.filter(
  ({ name }) => /^clients\/(?![\w-]+\/test\/)/.test(name) && !name.endsWith('.test.ts'),
);

/** The files that a source imports by a relative path, type imports included. */
export function importsOf({ name, text }: Source): string[] {
  const targets = [...text.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g)];
  const folder = path.posix.dirname(name);
  return targets.map(([, target = '']) => path.posix.join(folder, target));
}
