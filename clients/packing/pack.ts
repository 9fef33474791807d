import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { transformSync } from 'rolldown/utils';
import { type Files, tarGz } from './archive.ts';
import { clientTypes } from './client-types.ts';
import { packPython } from './python.ts';

// Builds the packages that customers install. Their bytes depend on the sources alone, so they are
// the same on every machine. `node clients/packing/pack.ts [FOLDER]` writes them; without a folder
// it only checks that they can be built.

const HOME = path.join(import.meta.dirname, '..');
const CLIENT = '@framewright/client';
/** How sources import openapi.json; packages import a module instead. */
const OPENAPI = /"(?:\.\.\/)+openapi\.json" with \{ type: "json" \}/;
const OPENAPI_MODULE = 'openapi.js';
/** Generated, since a new checkout lacks this file. It has types only. */
const TYPES = 'openapi.ts';
const NPM_PACKAGES = { client: 'typescript', 'ai-sdk': 'ai-sdk', cli: 'cli', mcp: 'mcp' };

interface Manifest {
  name: string;
  version: string;
  exports?: string;
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** All packages by file name. */
export function packClients(): Files {
  const archives = Object.entries(NPM_PACKAGES).map(([name, folder]) => {
    const manifest = readManifest(folder);
    return [`framewright-${name}-${manifest.version}.tgz`, tarGz(npmFiles(folder, manifest))];
  });
  return { ...Object.fromEntries(archives), ...packPython(path.join(HOME, 'python')) };
}

const read = (...names: string[]) => readFileSync(path.join(HOME, ...names));
const readManifest = (folder: string): Manifest => JSON.parse(String(read(folder, 'package.json')));

function npmFiles(folder: string, manifest: Manifest): Files {
  const needsClient = manifest.dependencies?.[CLIENT] !== undefined;
  const files: Files = {
    'package.json': Buffer.from(JSON.stringify(publishedManifest(manifest), null, 2)),
    LICENSE: read(folder, 'LICENSE'),
    'README.md': read(folder, 'README.md'),
    ...compiledFiles(folder),
    ...(needsClient && below('client/', compiledFiles(NPM_PACKAGES.client))),
  };
  return below('package/', files);
}

function below(folder: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([name, bytes]) => [folder + name, bytes]));
}

/** Compiled code and the types of its exports: Node strips no types below node_modules. */
function compiledFiles(folder: string): Files {
  const files: Files = {};
  const names = readdirSync(path.join(HOME, folder, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = names.map((one) => one.replaceAll(path.sep, '/'));
  for (const name of sources.filter((one) => one.endsWith('.ts') && one !== TYPES).sort()) {
    const { code } = compile(folder, name);
    files[compiled(name)] = Buffer.from(withinPackage(name, code));
    if (OPENAPI.test(code)) files[OPENAPI_MODULE] = openApiModule();
  }
  const { exports: entry } = readManifest(folder);
  return { ...files, ...(entry && declarationsOf(folder, path.posix.relative('src', entry))) };
}

/** A source's type declarations, with those they depend on. */
function declarationsOf(folder: string, name: string, files: Files = {}): Files {
  const file = compiled(name).replace(/js$/, 'd.ts');
  if (file in files) return files;
  // Generated from this source alone, so its exports must be explicitly typed.
  const { declaration = '' } = compile(folder, name, {});
  const text = declaration.replaceAll(/(from "\..+)\.ts"/g, '$1.js"');
  files[file] = Buffer.from(withinPackage(name, text));
  const needed = [...declaration.matchAll(/from "(\..+\.ts)"/g)];
  for (const [, one = ''] of needed) {
    declarationsOf(folder, path.posix.join(path.posix.dirname(name), one), files);
  }
  return files;
}

function compile(folder: string, name: string, declaration?: object) {
  const source = name === TYPES ? clientTypes() : String(read(folder, 'src', name));
  const result = transformSync(`${folder}/${name}`, source, {
    typescript: { rewriteImportExtensions: 'rewrite', ...(declaration && { declaration }) },
    tsconfig: false,
  });
  const reasons = result.errors.map((error) =>
    String('codeframe' in error ? error.codeframe : error.message),
  );
  if (reasons.length === 0) return result;
  throw new Error(`can't be packed: ${stripVTControlCharacters(reasons.join('\n'))}`);
}

/** Bundles the client and openapi.json, so that one URL installs everything. */
function withinPackage(name: string, code: string): string {
  const up = '../'.repeat(name.split('/').length - 1) || './';
  return code
    .replaceAll(`"${CLIENT}"`, `"${up}client/index.js"`)
    .replace(OPENAPI, `"${up}${OPENAPI_MODULE}"`);
}

/** A module, because early versions of Node 20 print a warning when they import JSON. */
function openApiModule(): Uint8Array {
  const value = JSON.parse(String(read('../openapi.json')));
  return Buffer.from(`export default ${JSON.stringify(value)};\n`);
}

const compiled = (source: string) => source.replace('./src/', './').replace(/\.ts$/, '.js');

/** The manifest of the published package, whose files are next to it. */
function publishedManifest({
  exports: entry,
  bin,
  dependencies,
  devDependencies,
  ...rest
}: Manifest) {
  const { [CLIENT]: _, ...others } = dependencies ?? {};
  return {
    ...rest,
    ...(entry && {
      exports: {
        '.': { types: compiled(entry).replace(/\.js$/, '.d.ts'), default: compiled(entry) },
        './package.json': './package.json',
      },
    }),
    ...(bin && {
      bin: Object.fromEntries(Object.entries(bin).map(([name, file]) => [name, compiled(file)])),
    }),
    dependencies: others,
  };
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  const files = Object.entries(packClients());
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true });
    for (const [name, bytes] of files) writeFileSync(path.join(folder, name), bytes);
  }
}
