import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { longTest } from '../../server/test/long.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { VERSION } from '../typescript/src/version.ts';
import { packClients } from './pack.ts';

const run = promisify(execFile);
const PACK = path.join(import.meta.dirname, 'pack.ts');

const NPM = ['client', 'ai-sdk', 'cli', 'mcp'].map((name) => `framewright-${name}-${VERSION}.tgz`);
const WHEEL = `framewright_client-${VERSION}-py3-none-any.whl`;
const SDIST = `framewright_client-${VERSION}.tar.gz`;

test('all packages and the service have one version', () => {
  const read = (name: string) => readFileSync(path.join(import.meta.dirname, '..', name), 'utf8');
  for (const folder of ['typescript', 'ai-sdk', 'cli', 'mcp', '../server']) {
    assert.equal(JSON.parse(read(`${folder}/package.json`)).version, VERSION, folder);
  }
  assert.ok(read('python/pyproject.toml').includes(`\nversion = "${VERSION}"\n`));
  assert.ok(read('python/src/framewright_client/_call.py').includes(`\nVERSION = "${VERSION}"\n`));
  assert.deepEqual(Object.keys(packClients()).sort(), [...NPM, WHEEL, SDIST].sort());
});

longTest('another machine at another time makes the same bytes', async () => {
  await using folder = await temporaryFolder();
  const env = { ...process.env, TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8' };
  await run('sh', ['-c', `umask 077 && exec "$0" "$@"`, process.execPath, PACK, folder.path], {
    env,
  });
  const own = packClients();
  for (const name of await readdir(folder.path)) {
    // Not deepEqual: the difference of two archives takes minutes to print.
    assert.ok(
      (await readFile(path.join(folder.path, name))).equals(own[name] ?? Buffer.of()),
      name,
    );
  }
  // The deflate of Node is not that of every Node: these bytes must come from no native code.
  assert.ok(gunzipSync(Buffer.from(own[SDIST] ?? [])).includes('PKG-INFO'));
});

test('each npm package installs without a registry into an empty folder, and works', async () => {
  await using home = await temporaryFolder();
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const env = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: home.path };
  await run(process.execPath, [PACK, cwd]);
  await writeFile(path.join(cwd, 'package.json'), '{"private": true, "type": "module"}');
  const archives = [NPM[0], NPM[2]].map((name) => `./${name}`);
  await run('npm', ['install', '--offline', '--no-audit', ...archives], { cwd, env });
  const program = "console.log((await import('@framewright/client')).VERSION)";
  const { stdout } = await run(process.execPath, ['-e', program], { cwd, env });
  assert.equal(stdout.trim(), VERSION);
  const fw = await run('npx', ['--no-install', 'fw', '--version'], { cwd, env });
  assert.equal(fw.stdout.trim(), VERSION);
});

test('no package asks a registry for one of ours', async () => {
  await using folder = await temporaryFolder();
  await run(process.execPath, [PACK, folder.path]);
  for (const name of NPM) {
    await run('tar', ['-xzf', name, '--one-top-level'], { cwd: folder.path });
    const unpacked = path.join(folder.path, name.replace(/\.tgz$/, ''), 'package');
    const text = await readFile(path.join(unpacked, 'package.json'), 'utf8');
    const { dependencies } = JSON.parse(text);
    assert.deepEqual(
      Object.keys(dependencies).filter((one) => one.startsWith('@framewright/')),
      [],
    );
    for (const file of await readdir(unpacked, { recursive: true })) {
      if (!/\.(js|d\.ts)$/.test(file)) continue;
      const code = await readFile(path.join(unpacked, file), 'utf8');
      assert.doesNotMatch(code, /["']@framewright\/|["']\..*\.ts["']/, `${name}: ${file}`);
    }
  }
});
