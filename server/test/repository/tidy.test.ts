import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { PROVIDER_NAMES } from '../../src/providers/registry.ts';
import { TEST_PROVIDER } from '../../src/providers/test-provider.ts';
import { product, ROOT } from './sources.ts';

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

test('the lockfile and the settings name no registry host', async () => {
  for (const name of ['package-lock.json', '.npmrc']) {
    assert.doesNotMatch(await readFile(path.join(ROOT, name), 'utf8'), /https?:\/\/registry/);
  }
});
