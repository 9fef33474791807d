import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from './sources.ts';

/** An entry of `packages` in package-lock.json; its key is the folder that it is for. */
interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  /** A link to the folder `resolved`: a workspace. */
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  bin?: Record<string, string>;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

type Packages = Record<string, LockedPackage>;

const { packages }: { packages: Packages } = JSON.parse(
  await readFile(path.join(ROOT, 'package-lock.json'), 'utf8'),
);

/** Looks where Node looks: in the node_modules of the folder and of each folder above it. */
function find(all: Packages, folder: string, name: string): LockedPackage | undefined {
  const found = all[`${folder}${folder && '/'}node_modules/${name}`];
  if (found || folder === '') return found;
  return find(all, folder.slice(0, Math.max(0, folder.lastIndexOf('/'))), name);
}

/**
 * What `npm ci` lacks on some platform: npm writes such lockfiles when it starts from a node_modules
 * of one platform (github.com/npm/cli/issues/4828), and notices on the other platforms only.
 */
function holesOf(all: Packages): string[] {
  return Object.entries(all).flatMap(([folder, locked]) => {
    const wanted = Object.entries(locked.optionalDependencies ?? {});
    const missing = wanted.filter(([name, range]) => {
      const version = find(all, folder, name)?.version;
      return !version || (/^\d/.test(range) && version !== range);
    });
    const isInstalled = !locked.link && folder.includes('node_modules/');
    const fromRegistry = isInstalled && !locked.resolved?.startsWith('file:');
    const forOnePlatform = locked.os || locked.cpu || locked.libc;
    return [
      ...missing.map(([name, range]) => `${folder} wants ${name} ${range}`),
      ...(isInstalled && !locked.version ? [`${folder} has no version`] : []),
      ...(fromRegistry && !locked.integrity ? [`${folder} has no checksum`] : []),
      ...(forOnePlatform && !locked.optional && !locked.devOptional
        ? [`${folder} is for one platform and not optional`]
        : []),
    ];
  });
}

test('the lockfile has the packages of every platform', () => {
  assert.deepEqual(holesOf(packages), []);
  const { 'node_modules/@biomejs/cli-darwin-arm64': removed, ...rest } = packages;
  const wanted = `@biomejs/cli-darwin-arm64 ${removed?.version}`;
  assert.deepEqual(holesOf(rest), [`node_modules/@biomejs/biome wants ${wanted}`]);
});

/**
 * At the top, npm 9 and 10 would remove node_modules/.bin/node together with the packages of the
 * other platforms.
 */
const NODES = /^node_modules\/npm-node\/node_modules\/node-/;

test('the Node that runs everything is locked for each platform, in a folder of its own', () => {
  const all = Object.entries(packages);
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
  const elsewhere = all.filter(([folder]) => !NODES.test(folder));
  assert.ok(elsewhere.every(([, locked]) => locked.bin?.node !== 'bin/node'));
});
