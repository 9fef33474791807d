import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { filesOf, GUIDES, OPERATIONS } from './docs/contents.ts';
import { copyDocs } from './docs/standalone.ts';

export { escapeHtml, type Filling, fill, UNBRANDED } from './docs/marks.ts';

const HOME = import.meta.dirname;
export const PACKAGES = 'packages';
/** One folder per build, named after the hash of its sources. */
const BUILDS = path.join(HOME, 'dist');
/** The build's sources. package.json pins the dependencies. */
export const SOURCES = [
  'src',
  'public',
  'docs',
  'index.html',
  'docs.html',
  'package.json',
  'build.ts',
  'vite-settings.ts',
  '../server/src/kernel/currency.ts', // the only server file with code, not just types
  '../openapi.json',
  '../clients/packing',
  ...['typescript', 'ai-sdk', 'cli', 'mcp'].flatMap((name) =>
    ['src', 'package.json', 'LICENSE'].map((file) => `../clients/${name}/${file}`),
  ),
  ...['src', 'examples', 'pyproject.toml', 'LICENSE'].map((name) => `../clients/python/${name}`),
  '../docs/customers/pictures',
  ...[GUIDES, OPERATIONS].flatMap(filesOf).map((file) => `../${file}`),
];

/** Types generated for the compiler. Not hashed: a new checkout does not have the file yet. */
const GENERATED = path.join('../clients/typescript/src/openapi.ts');

/**
 * Returns the folder of the built pages, building them first if their sources have changed.
 * Processes may call this at the same time: each builds into its own folder, and all use the first
 * one finished.
 * @param report called with one line before a build and one after it
 * @returns the absolute path of a folder with `index.html` and `assets/`
 */
export async function buildPages(report: (line: string) => void = () => {}): Promise<string> {
  const folder = path.join(BUILDS, await hashOfSources());
  if (existsSync(folder)) return folder;
  const start = performance.now();
  report('building the pages of the website');
  await mkdir(BUILDS, { recursive: true });
  const fresh = await mkdtemp(path.join(BUILDS, '.new-'));
  try {
    const { settings } = await import('./vite-settings.ts');
    const { build } = await import('vite');
    await build(settings({ root: HOME, outDir: fresh }));
    const docs: { buildDocs(folder: string): Promise<void> } = await import(DOCS_BUILDER);
    await docs.buildDocs(fresh);
    await compress(fresh);
    await writePackages(path.join(fresh, PACKAGES));
    await chmod(fresh, 0o755); // another user may run the service
    await rename(fresh, folder).catch((error) => {
      if (!existsSync(folder)) throw error; // otherwise another process was first
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  await removeOldBuilds(folder);
  report(`built the pages in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return folder;
}

async function writePackages(folder: string): Promise<void> {
  const { packClients } = await import('../clients/packing/pack.ts');
  await mkdir(folder);
  for (const [name, bytes] of Object.entries(packClients())) {
    await writeFile(path.join(folder, name), bytes);
  }
}

// A computed URL, so that tsc does not follow the import with the settings of the server: the docs'
// syntax highlighter needs the types of the DOM.
const DOCS_BUILDER = new URL('docs/build-docs.ts', import.meta.url).href;

async function sourceFiles(): Promise<string[]> {
  const found = await Promise.all(
    SOURCES.map(async (name) => {
      const file = path.join(HOME, name);
      if (!(await stat(file)).isDirectory()) return [name];
      const entries = await readdir(file, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('__pycache__'))
        .map((entry) => path.relative(HOME, path.join(entry.parentPath, entry.name)));
    }),
  );
  return found
    .flat()
    .filter((name) => name !== GENERATED)
    .sort();
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of await sourceFiles()) {
    const bytes = await readFile(path.join(HOME, name));
    hash.update(`${name.replaceAll(path.sep, '/')}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex').slice(0, 16);
}

/** The service fills in the other texts, and compresses them itself. */
const COMPRESSED = /\.(js|css)$/;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

async function compress(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = entries.filter(({ name }) => COMPRESSED.test(name));
  await Promise.all(
    texts.map(async (entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const bytes = await readFile(file);
      const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
      await writeFile(`${file}.br`, await toBrotli(bytes, { params }));
      await writeFile(`${file}.gz`, await toGzip(bytes, { level: 9 }));
    }),
  );
}

const DAY = 86_400_000;

/** Removes builds of another day; another process may still be serving a younger one. */
async function removeOldBuilds(current: string): Promise<void> {
  for (const name of await readdir(BUILDS)) {
    const folder = path.join(BUILDS, name);
    if (folder === current) continue;
    const changed = await stat(folder).catch(() => undefined);
    if (changed && Date.now() - changed.mtimeMs > DAY) {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

if (import.meta.main) {
  const options = { docs: { type: 'string' }, origin: { type: 'string' } } as const;
  const { docs, origin } = parseArgs({ options }).values;
  const folder = await buildPages((line) => process.stdout.write(`${line}\n`));
  if (docs !== undefined) await copyDocs(folder, docs, origin);
  process.stdout.write(`${docs ?? folder}\n`);
}
