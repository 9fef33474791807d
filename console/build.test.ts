import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, symlink, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { buildPages, SOURCES } from './build.ts';

const run = promisify(execFile);
const HOME = import.meta.dirname;
/** A copy of the sources, from which the packages can be found. */
let copy: string;
let folder: string;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'framewright-pages-'));
  copy = path.join(folder, 'console');
  await symlink(path.join(HOME, '../node_modules'), path.join(folder, 'node_modules'));
  for (const name of SOURCES) {
    await cp(path.join(HOME, name), path.join(copy, name), { recursive: true });
  }
});

after(() => rm(folder, { recursive: true, force: true }));

/** Builds in a process of its own. @returns the lines that it printed, the folder last */
async function build(): Promise<string[]> {
  const { stdout } = await run(process.execPath, [path.join(copy, 'build.ts')]);
  return stdout.trimEnd().split('\n');
}

test('a build is used by later starts, and its scripts and styles are compressed', async () => {
  const folder = (await build()).at(-1) ?? '';
  assert.deepEqual(await readdir(path.join(copy, 'dist')), [path.basename(folder)]);
  assert.deepEqual(await build(), [folder], 'nothing is built again');
  const page = await readFile(path.join(folder, 'index.html'), 'utf8');
  assert.match(page, /<script src="\/assets\/theme-[\w-]+\.js"><\/script>/);
  assert.doesNotMatch(page, /<script>|<style|style=/, 'nothing is inlined');
  const [, style = ''] = /href="\/(assets\/[^"]+\.css)"/.exec(page) ?? [];
  const [plain, br, gz] = await Promise.all(
    ['', '.br', '.gz'].map((kind) => readFile(path.join(folder, `${style}${kind}`))),
  );
  assert.deepEqual(brotliDecompressSync(br ?? ''), plain);
  assert.deepEqual(gunzipSync(gz ?? ''), plain);
});

test('two processes that build at once make one build', async () => {
  await rm(path.join(copy, 'dist'), { recursive: true });
  const [one, two] = await Promise.all([build(), build()]);
  assert.equal(one.at(-1), two.at(-1));
  assert.deepEqual(await readdir(path.join(copy, 'dist')), [path.basename(one.at(-1) ?? '')]);
});

test('changed sources are built again, and builds of another day are removed', async () => {
  const [before] = await build();
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  await utimes(before ?? '', yesterday, yesterday);
  await appendFile(path.join(copy, 'src/theme-before-paint.js'), '// changed\n');
  const lines = await build();
  assert.match(lines[0] ?? '', /^building/);
  assert.match(lines[1] ?? '', /^built the pages in \d/);
  assert.notEqual(lines[2], before);
  assert.deepEqual(await readdir(path.join(copy, 'dist')), [path.basename(lines[2] ?? '')]);
});

test('a build that fails leaves nothing', async () => {
  await appendFile(path.join(copy, 'src/main.tsx'), 'const broken = ;\n');
  const before = await readdir(path.join(copy, 'dist'));
  await assert.rejects(build());
  assert.deepEqual(await readdir(path.join(copy, 'dist')), before);
});

/** The most script that a page may load, in bytes, compressed. The chart alone has 23 KB. */
const MAX_SCRIPT_BYTES = 68 * 1024;

test('each page loads at most 68 KB of script', async () => {
  const folder = path.join(await buildPages(), 'assets');
  const scripts = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  const texts = new Map<string, string>();
  for (const name of scripts) texts.set(name, await readFile(path.join(folder, name), 'utf8'));
  const entry = scripts.find((name) => /^index-/.test(name)) ?? '';
  const size = (name: string) => gzipSync(texts.get(name) ?? '').length;
  /** The file and all that it imports, also later, except other pages. */
  const reach = (name: string, found = new Set<string>()): Set<string> => {
    if (found.has(name) || !texts.has(name)) return found;
    found.add(name);
    const targets = (texts.get(name) ?? '').matchAll(/["'`]\.\/([\w-]+\.js)["'`]/g);
    for (const [, target = ''] of targets) reach(target, found);
    return found;
  };
  const start =
    size(entry) +
    scripts.filter((name) => /^theme-/.test(name)).reduce((sum, name) => sum + size(name), 0);
  assert.ok(start < MAX_SCRIPT_BYTES / 2, `the shell has ${start} bytes`);
  for (const page of scripts) {
    const all = reach(page, new Set([entry]));
    const bytes =
      start + [...all].filter((name) => name !== entry).reduce((sum, name) => sum + size(name), 0);
    assert.ok(bytes <= MAX_SCRIPT_BYTES, `${page}: ${bytes} bytes`);
  }
});
