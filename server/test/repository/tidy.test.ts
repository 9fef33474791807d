import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { PROVIDER_NAMES } from '../../src/providers/registry.ts';
import { TEST_PROVIDER } from '../../src/providers/test-provider.ts';
import { clientCode, product, ROOT, sources, workspaceCode } from './sources.ts';

const code = [...product, ...workspaceCode, ...clientCode];

test('only config.ts reads the environment, and what commands read is beside it', () => {
  const readers = [...product, ...workspaceCode].filter(({ text }) => text.includes('process.env'));
  const wanted = ['server/src/config/command-config.ts', 'server/src/config/config.ts'];
  assert.deepEqual(readers.map(({ name }) => name).sort(), wanted);
});

/** Files that name the provider of a start without configuration. */
const NAMES_LOCAL = [
  'server/src/cli/welcome.ts', // the welcome of the first start
  'server/src/config/config.ts', // the default of PROVIDER
  'server/src/write-openapi.ts', // builds the app without a provider
];

test('only registry.ts and test-provider.ts name a provider outside its folder', () => {
  const wrong = [...PROVIDER_NAMES, TEST_PROVIDER].flatMap((provider) => {
    const known = [
      'server/src/providers/registry.ts',
      'server/src/providers/test-provider.ts',
      ...(provider === 'local' ? NAMES_LOCAL : []),
    ];
    const naming = new RegExp(
      `'${provider}'|(\\.|providers)/${provider}/|\\b${provider.toUpperCase()}_`,
    );
    return product
      .filter(({ name, text }) => naming.test(text) && !known.includes(name))
      .filter(({ name }) => !name.startsWith(`server/src/providers/${provider}/`))
      .map(({ name }) => `${name} names ${provider}`);
  });
  assert.deepEqual(wrong, []);
});

/** The columns of a line. In a page, the names of classes and the paths of pictures do not count. */
function columnsOf(name: string, line: string): number {
  const code = name.endsWith('.tsx') ? line.replace(/'[^']*'|"[^"]*"|`[^`]*`/g, "''") : line;
  return [...code].length;
}

test('files have at most 400 lines of at most 100 columns, in folders at most 4 deep', () => {
  const wrong = code.flatMap(({ name, text }) => {
    const lines = text.split('\n');
    const long = lines.flatMap((line, i) =>
      columnsOf(name, line) > 100 ? [`${name}:${i + 1} is too long`] : [],
    );
    if (lines.length > 401) long.push(`${name} has ${lines.length} lines`);
    if (path.dirname(name).split('/').length > 4)
      long.push(`${name} is in a folder that is too deep`);
    return long;
  });
  assert.deepEqual(wrong, []);
});

/** A function at the top of a file, with its parameters; overloads have no body. */
const FUNCTION =
  /^(?:export )?(?:default )?(?:async )?function \w+[^\n]*\n(?:(?!\S+.*;$)[^\n]*\n)*?}$/gm;

test('a component of the pages is seen whole: at most 50 lines', () => {
  const pages = sources.filter(({ name }) => /^console\/src\//.test(name));
  assert.ok(pages.some(({ text }) => text.match(FUNCTION)));
  const wrong = pages.flatMap(({ name, text }) =>
    (text.match(FUNCTION) ?? [])
      .filter((whole) => whole.split('\n').length > 50)
      .map((whole) => `${name}: ${whole.split('\n', 1)}`),
  );
  assert.deepEqual(wrong, []);
});

test('file names say what the file is about', () => {
  const vague = /(^|[/_-])(utils?|helpers?|common|managers?|misc|types|interfaces)([/._-]|$)/;
  assert.deepEqual(
    sources.map(({ name }) => name).filter((name) => vague.test(name)),
    [],
  );
});

test('a statement name is used once', () => {
  const names = product.flatMap(({ text }) =>
    [
      ...text.matchAll(
        /(?:[sS]tatement\(|(?:openAdmission|fusedRead)(?:<\w+>)?\([\w.]+,)\s*'([^']+)'/g,
      ),
      ...text.matchAll(/ = (?:query\w*|whether|command)(?:<[^`]*?>)?\(\s*'([^']+)'/g),
    ].map(([, name]) => name),
  );
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
});

test('statements name their columns: an added column must not change what they return', () => {
  const star = /(?:\b(?:select|returning|distinct|all)\s|,|\w\.)\s*\*/i;
  const wrong = product.flatMap(({ name, text }) =>
    [...text.matchAll(/`[^`]*`|'[^'\n]*'/g)]
      .map(([literal]) => literal)
      .filter((literal) => /\b(select|returning)\b/i.test(literal) && star.test(literal))
      .map((literal) => `${name}: ${star.exec(literal)?.[0]}`),
  );
  assert.deepEqual(wrong, []);
});

test('no statement has more than four positional parameters', () => {
  const wrong = product.filter(({ text }) => /(?<!-)\$([5-9]|[1-9]\d)\b/.test(text));
  assert.deepEqual(
    wrong.map(({ name }) => name),
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

test('no comment marks unfinished work', () => {
  const marks = new RegExp(['TODO', 'FIXME', 'XXX'].map((mark) => `\\b${mark}\\b`).join('|'));
  assert.deepEqual(
    code.filter(({ text }) => marks.test(text)).map(({ name }) => name),
    [],
  );
});

test('an entry of the glossary has at most three sentences of at most 26 words', async () => {
  const glossary = await readFile(path.join(ROOT, 'docs/glossary.md'), 'utf8');
  const entries = [...glossary.matchAll(/^\| (.+?) \| (.+) \|$/gm)];
  assert.ok(entries.length > 40);
  const long = entries.filter(([, , text = '']) => {
    const sentences = text.replace(/\]\([^)]*\)/g, ']').split(/(?<=\.)\s+/);
    return sentences.length > 3 || sentences.some((one) => one.split(/\s+/).length > 26);
  });
  assert.deepEqual(
    long.map(([, word]) => word),
    [],
  );
});
