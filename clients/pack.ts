import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

// Writes what is published of the packages into folders of FOLDER, for `npm pack` or `npm publish`:
// `node clients/pack.ts FOLDER [PACKAGE...]`. Node runs no TypeScript below node_modules.
const PACKAGES = ['typescript', 'ai-sdk', 'cli', 'mcp'];

interface Manifest {
  exports?: string;
  bin?: Record<string, string>;
}

const compiled = (source: string) => source.replace('./src/', './').replace(/\.ts$/, '.js');

/** The manifest of the published package, whose files lie beside it. */
function publishedManifest({ exports: entry, bin, ...rest }: Manifest) {
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
  };
}

/** Programs without comments, and types with them. */
const OUTPUTS = [{ removeComments: true }, { emitDeclarationOnly: true, declaration: true }];

/** Runs the compiler. Its settings lie beside the packages, so that it finds the types of Node. */
function compile(rootDir: string, outDir: string): void {
  const file = path.join(import.meta.dirname, `tsconfig.${process.pid}.tmp.json`);
  const tsc = path.join(import.meta.dirname, '../node_modules/typescript/bin/tsc');
  for (const output of OUTPUTS) {
    const compilerOptions = Object.assign({ rootDir, outDir }, output);
    const settings = { extends: './tsconfig.pack.json', include: [rootDir], compilerOptions };
    writeFileSync(file, JSON.stringify(settings));
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', file], { encoding: 'utf8' });
    rmSync(file);
    if (status !== 0) throw new Error(`${rootDir} does not compile:\n${stdout}`);
  }
}

/** Compiles a package into a folder, with its manifest, README and licence. */
function pack(name: string, folder: string): void {
  const from = path.join(import.meta.dirname, name);
  mkdirSync(folder, { recursive: true });
  compile(path.join(from, 'src'), folder);
  const manifest = JSON.parse(readFileSync(path.join(from, 'package.json'), 'utf8'));
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify(publishedManifest(manifest), null, 2),
  );
  for (const file of readdirSync(path.join(from, 'src')).filter((name) => name.endsWith('.json')))
    cpSync(path.join(from, 'src', file), path.join(folder, file));
  for (const file of ['README.md', 'LICENSE'])
    cpSync(path.join(from, file), path.join(folder, file));
}

const USAGE = `usage: node clients/pack.ts FOLDER [PACKAGE...]
PACKAGE is one of ${PACKAGES.join(', ')}; without one, all are written.`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h' } },
});
const [folder, ...names] = positionals;
if (values.help || folder === undefined || names.some((name) => !PACKAGES.includes(name))) {
  process[values.help ? 'stdout' : 'stderr'].write(`${USAGE}\n`);
  process.exitCode = values.help ? 0 : 2;
} else {
  for (const name of names.length > 0 ? names : PACKAGES) pack(name, path.resolve(folder, name));
}
