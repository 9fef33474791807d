import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Packages of hundreds of files: to load them takes each process a third of a second. */
const PACKAGES = ['typebox', 'typebox/value', 'undici'];
const ROOT = path.resolve(import.meta.dirname, '../../..');
const BUNDLES = path.join(ROOT, 'node_modules/.cache/bundled-packages');

/**
 * Makes one file of each of these packages, unless that was done with the same versions.
 * @returns the option of Node with which all code of this repository loads these files
 */
export async function bundlePackages(): Promise<string> {
  const versions = await readFile(path.join(ROOT, 'package-lock.json'));
  const hash = createHash('sha256').update(versions).update(PACKAGES.join()).digest('hex');
  const folder = path.join(BUNDLES, hash.slice(0, 16));
  if (!existsSync(folder)) {
    await mkdir(BUNDLES, { recursive: true });
    const fresh = await mkdtemp(path.join(BUNDLES, '.new-'));
    await bundleInto(fresh);
    // Another run may have been quicker.
    await rename(fresh, folder).catch(() => rm(fresh, { recursive: true }));
  }
  return `--import=${pathToFileURL(path.join(folder, 'load.mjs')).href}`;
}

async function bundleInto(folder: string): Promise<void> {
  const { build } = await import('vite');
  const entries = await Promise.all(PACKAGES.map((name, index) => writeEntry(folder, name, index)));
  await build({
    configFile: false,
    logLevel: 'error',
    root: folder,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { input: entries, output: { entryFileNames: '[name].js' } },
    },
  });
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
  const files = PACKAGES.map((name, index) => [name, `./package-${index}.js`]);
  await writeFile(path.join(folder, 'load.mjs'), loader(Object.fromEntries(files)));
}

/** A module with the names that Node finds in the package: a bundler finds none in CommonJS. */
async function writeEntry(folder: string, name: string, index: number): Promise<string> {
  const names = Object.keys(await import(name)).filter((key) => /^\w+$/.test(key));
  const file = path.join(folder, `package-${index}.mjs`);
  await writeFile(file, `export { ${names.join(', ')} } from '${name}';\n`);
  return file;
}

function loader(files: Record<string, string>): string {
  return `import { registerHooks } from 'node:module';
const files = ${JSON.stringify(files)};
const ours = ${JSON.stringify(`${pathToFileURL(ROOT).href}/`)};
registerHooks({
  resolve(name, context, next) {
    const parent = context.parentURL ?? '';
    const file = parent.startsWith(ours) && !parent.includes('/node_modules/') && files[name];
    if (!file) return next(name, context);
    return { url: new URL(file, import.meta.url).href, format: 'module', shortCircuit: true };
  },
});
`;
}
