import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { accepts, holesOf, type LockedPackage, type LockedPackages } from './lockfile.ts';

const LOCKFILE = new URL('../../../package-lock.json', import.meta.url);
const PROJECT = new URL('../../../package.json', import.meta.url);

test('the lockfile has every package that some platform needs', async () => {
  const { lockfileVersion, packages } = JSON.parse(await readFile(LOCKFILE, 'utf8'));
  assert.equal(lockfileVersion, 3);
  const { overrides } = JSON.parse(await readFile(PROJECT, 'utf8'));
  assert.deepEqual(holesOf(packages, overrides), []);
});

/**
 * At the top, npm 9 and 10 would remove node_modules/.bin/node together with the packages of the
 * other platforms.
 */
const NODES = /^node_modules\/npm-node\/node_modules\/node-/;

test('the Node that runs everything is locked for each platform, in a folder of its own', async () => {
  const { packages } = JSON.parse(await readFile(LOCKFILE, 'utf8'));
  const isNode = ([, locked]: [string, LockedPackage]) => locked.bin?.node === 'bin/node';
  const all = Object.entries<LockedPackage>(packages);
  const nodes = all.filter(([folder]) => NODES.test(folder)).map(([, locked]) => locked);
  assert.deepEqual(nodes.map(({ os, cpu }) => `${os} ${cpu}`).toSorted(), [
    'darwin arm64',
    'darwin x64',
    'linux arm64',
    'linux x64',
    'win32 x64',
  ]);
  assert.equal(new Set(nodes.map(({ version }) => version)).size, 1);
  assert.ok(nodes.every(({ integrity, dev, optional }) => integrity && dev && optional));
  assert.deepEqual(
    all.filter(isNode).filter(([folder]) => !NODES.test(folder)),
    [],
  );
});

/** A workspace whose package has a binary for each of two platforms. */
function sample(): LockedPackages {
  const integrity = 'sha512-AAAA';
  return {
    '': { devDependencies: { lint: '1.2.3' } },
    server: { version: '1.0.0', dependencies: { decoder: '^2.1.0' } },
    'node_modules/server': { resolved: 'server', link: true },
    'node_modules/lint': { version: '1.2.3', integrity, peerDependencies: { server: '1.0.0' } },
    'node_modules/decoder': {
      version: '2.1.4',
      integrity,
      optionalDependencies: { '@decoder/linux': '2.1.4', '@decoder/darwin': '2.1.4' },
      peerDependencies: { canvas: '>=3.0' },
      peerDependenciesMeta: { canvas: { optional: true } },
    },
    'node_modules/@decoder/linux': { version: '2.1.4', integrity, optional: true, os: ['linux'] },
    'node_modules/@decoder/darwin': { version: '2.1.4', integrity, optional: true, os: ['darwin'] },
  };
}

const DARWIN = 'node_modules/@decoder/darwin';
const NESTED = 'node_modules/decoder/node_modules/@decoder/darwin';

const BROKEN: [string, (packages: LockedPackages) => void, string[]][] = [
  [
    'a platform left out',
    (packages) => {
      delete packages[DARWIN];
    },
    ['node_modules/decoder wants @decoder/darwin 2.1.4, which is missing'],
  ],
  [
    "a platform's binary of another version",
    (packages) => {
      packages[DARWIN] = { ...packages[DARWIN], version: '2.1.3' };
    },
    ['node_modules/decoder wants @decoder/darwin 2.1.4, not 2.1.3'],
  ],
  [
    'a right version that a wrong one nearer to its parent hides',
    (packages) => {
      packages[NESTED] = { ...packages[DARWIN], version: '2.0.0' };
    },
    ['node_modules/decoder wants @decoder/darwin 2.1.4, not 2.0.0'],
  ],
  [
    'a right version where the parent does not look',
    (packages) => {
      packages['node_modules/lint/node_modules/@decoder/darwin'] = packages[DARWIN] ?? {};
      delete packages[DARWIN];
    },
    ['node_modules/decoder wants @decoder/darwin 2.1.4, which is missing'],
  ],
  [
    'an entry without version and checksum',
    (packages) => {
      packages[DARWIN] = { optional: true };
    },
    [
      'node_modules/decoder wants @decoder/darwin 2.1.4, not an entry without a version',
      `${DARWIN} has no version`,
      `${DARWIN} has no checksum`,
    ],
  ],
  [
    'a package for one platform that all must install',
    (packages) => {
      delete packages[DARWIN]?.optional;
    },
    [`${DARWIN} is for one platform and not optional`],
  ],
  [
    'a package of a workspace left out',
    (packages) => {
      delete packages['node_modules/decoder'];
    },
    ['server wants decoder ^2.1.0, which is missing'],
  ],
];

test('a whole lockfile has no holes', () => {
  assert.deepEqual(holesOf(sample()), []);
});

test('an override is wanted instead of what a package asks for', () => {
  const packages = sample();
  assert.deepEqual(holesOf(packages, { decoder: '3.0.0' }), [
    'server wants decoder 3.0.0, not 2.1.4',
  ]);
  packages['node_modules/decoder'] = { ...packages['node_modules/decoder'], version: '3.0.0' };
  assert.deepEqual(holesOf(packages, { decoder: '3.0.0' }), []);
});

for (const [hole, breakIt, expected] of BROKEN) {
  test(`a hole is found: ${hole}`, () => {
    const packages = sample();
    breakIt(packages);
    assert.deepEqual(holesOf(packages), expected);
  });
}

test('a nested version that its parent wants is found first', () => {
  const packages = sample();
  packages[NESTED] = packages[DARWIN] ?? {};
  packages[DARWIN] = { ...packages[DARWIN], version: '9.9.9' };
  assert.deepEqual(holesOf(packages), []);
});

test('ranges of versions', () => {
  const fits = [
    ['1.2.3', '1.2.3'],
    ['=1.2.3', '1.2.3'],
    ['1', '1.10.4'],
    ['1.2', '1.2.9'],
    ['1.2.3-beta.17', '1.2.3-beta.17'],
    ['^1.2.3', '1.10.0'],
    ['^0.12.5', '0.12.6'],
    ['^0.0.3', '0.0.3'],
    ['~1.2.3', '1.2.9'],
    ['>=8.0', '9.1.0'],
    ['>=1.10.0 <1.11.0', '1.10.4'],
    ['^9.14.0 || ^10.1.0', '10.4.0'],
    ['*', '0.0.1'],
  ] as const;
  const unfit = [
    ['1.2.3', '1.2.4'],
    ['=1.2.3', '1.2.4'],
    ['1', '2.0.0'],
    ['1.2', '1.3.0'],
    ['1.2.3-beta.17', '1.2.3'],
    ['^1.2.3', '1.2.2'],
    ['^1.2.3', '2.0.0'],
    ['^0.12.5', '0.13.0'],
    ['^0.0.3', '0.0.4'],
    ['~1.2.3', '1.3.0'],
    ['>=8.0', '7.9.9'],
    ['>=1.10.0 <1.11.0', '1.11.0'],
    ['>=1.10.0 <1.11.0', '1.9.9'],
    ['^9.14.0 || ^10.1.0', '10.0.9'],
  ] as const;
  const accepted = (pairs: readonly (readonly [string, string])[]) =>
    pairs.filter(([range, version]) => accepts(range, version));
  assert.deepEqual(accepted(fits), fits);
  assert.deepEqual(accepted(unfit), []);
  assert.throws(() => accepts('1.x', '1.2.3'), /unknown form: 1\.x/);
});
