import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCE = path.join(ROOT, 'server/src');

interface Source {
  /** Relative to the root, with forward slashes. */
  name: string;
  text: string;
}

async function filesUnder(folder: string, ending: string): Promise<Source[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const wanted = entries.filter(
    (entry) =>
      entry.isFile() && entry.name.endsWith(ending) && !entry.parentPath.includes('node_modules'),
  );
  return Promise.all(
    wanted.map(async (entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return { name: path.relative(ROOT, file), text: await readFile(file, 'utf8') };
    }),
  );
}

const all = [
  ...(await filesUnder(path.join(ROOT, 'server'), '.ts')),
  ...(await filesUnder(path.join(ROOT, 'acceptance'), '.ts')),
  ...(await filesUnder(path.join(ROOT, 'bench'), '.ts')),
];
const product = all.filter(({ name }) => name.startsWith('server/src/') && !isTest(name));

function isTest(name: string): boolean {
  return name.endsWith('.test.ts');
}

/** Rooms by floor: an import goes within its room or to a lower floor (design, "Rooms"). */
const FLOORS = [
  ['kernel'],
  ['database'],
  ['outbound', 'media'],
  ['catalog', 'ledger', 'storage', 'queue'],
  ['providers'],
  ['tasks', 'accounts'],
  ['operator'],
  ['http'],
  ['config'],
];

function roomOf(file: string): string {
  const [fixture = '', ...rest] = path.relative(SOURCE, file).split(path.sep);
  return rest.length === 0 || fixture === 'cli' ? 'top' : fixture;
}

function floorOf(fixture: string): number {
  const floor = FLOORS.findIndex((rooms) => rooms.includes(fixture));
  return fixture === 'top' ? FLOORS.length : floor;
}

function importsOf({ name, text }: Source): string[] {
  const from = path.dirname(path.join(ROOT, name));
  const targets = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)];
  return targets.map(([, target = '']) => path.resolve(from, target));
}

test('imports stay in their room or go to a lower floor', () => {
  const wrong = product.flatMap((source) => {
    const fixture = roomOf(path.join(ROOT, source.name));
    assert.notEqual(floorOf(fixture), -1, `${source.name} is in a room without a floor`);
    return importsOf(source)
      .filter((target) => roomOf(target) !== fixture && floorOf(roomOf(target)) >= floorOf(fixture))
      .map((target) => `${source.name} imports ${path.relative(ROOT, target)}`);
  });
  assert.deepEqual(wrong, []);
});

test('only config/config.ts reads the environment', () => {
  const readers = product.filter(({ text }) => text.includes('process.env'));
  assert.deepEqual(readers.map(({ name }) => name).sort(), ['server/src/config/config.ts']);
});

test('ledger tables are named only in the ledger room', () => {
  const wrong = product.filter(
    ({ name, text }) =>
      !name.startsWith('server/src/ledger/') && /ledger_(accounts|transfers)/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  );
});

test('the acceptance suite imports nothing of the server', () => {
  const wrong = all.filter(
    (source) =>
      source.name.startsWith('acceptance/') &&
      importsOf(source).some((target) => !target.startsWith(path.join(ROOT, 'acceptance'))),
  );
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  );
});

test('files have at most 400 lines of at most 100 columns, in folders at most 4 deep', () => {
  const wrong = product.flatMap(({ name, text }) => {
    const lines = text.split('\n');
    const long = lines.flatMap((line, i) =>
      [...line].length > 100 ? [`${name}:${i + 1} is long`] : [],
    );
    if (lines.length > 401) long.push(`${name} has ${lines.length} lines`);
    if (path.dirname(name).split('/').length > 4) long.push(`${name} lies too deep`);
    return long;
  });
  assert.deepEqual(wrong, []);
});

test('names say what a thing is', () => {
  const vague = /(^|[/_-])(utils?|helpers?|common|managers?|misc|types|interfaces)([/._-]|$)/;
  assert.deepEqual(
    all.map(({ name }) => name).filter((name) => vague.test(name)),
    [],
  );
});

test('a statement name is used once', () => {
  const names = product.flatMap(({ text }) =>
    [
      ...text.matchAll(
        /(?:[sS]tatement\(|(?:openAdmission|fusedRead)(?:<\w+>)?\([\w.]+,)\s*'([^']+)'/g,
      ),
    ].map(([, name]) => name),
  );
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
});

test('the root has at most 8 npm scripts', async () => {
  const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
  assert.ok(Object.keys(scripts).length <= 8);
});

test('the lockfile and the settings name no registry host', async () => {
  for (const name of ['package-lock.json', '.npmrc']) {
    assert.doesNotMatch(await readFile(path.join(ROOT, name), 'utf8'), /https?:\/\/registry/);
  }
});

test('the lockfile knows every optional package, or a clean install refuses it', async () => {
  const { packages } = JSON.parse(await readFile(path.join(ROOT, 'package-lock.json'), 'utf8'));
  const known = new Set(Object.keys(packages).map((at) => at.replace(/^.*node_modules\//, '')));
  const missing = Object.values<{ optionalDependencies?: object }>(packages)
    .flatMap((one) => Object.keys(one.optionalDependencies ?? {}))
    .filter((name) => !known.has(name));
  assert.deepEqual(missing, []);
});

test('no doc, comment or test is left undone', () => {
  const marks = new RegExp(['TODO', 'FIXME', 'XXX'].map((mark) => `\\b${mark}\\b`).join('|'));
  assert.deepEqual(
    product.filter(({ text }) => marks.test(text)).map(({ name }) => name),
    [],
  );
});

/** Lines from a function's head to its closing brace, by indentation: good enough to watch. */
function functionLengths({ text }: Source): number[] {
  const lines = text.split('\n');
  return lines.flatMap((line, start) => {
    const head = /^(\s*)(export )?(async )?function\*? |^(\s*)const \w+ = (async )?\(.*=> \{$/.exec(
      line,
    );
    if (!head) return [];
    const indent = head[1] ?? head[4] ?? '';
    const end = lines.findIndex((other, i) => i >= start && other.startsWith(`${indent}}`));
    return end === -1 ? [] : [end - start + 1];
  });
}

test('functions stay short', (t) => {
  const lengths = product.flatMap(functionLengths).sort((a, b) => a - b);
  const median = lengths[Math.floor(lengths.length / 2)];
  const longest = lengths.at(-1) ?? 0;
  t.diagnostic(`${lengths.length} functions, median ${median} lines, longest ${longest}`);
  assert.ok(longest <= 70);
});
