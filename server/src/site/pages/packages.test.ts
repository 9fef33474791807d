import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import fastify, { type FastifyInstance } from 'fastify';
import { openTestDatabase } from '../../../test/database.ts';
import { recordingLog } from '../../../test/recording-log.ts';
import { openTestFolder } from '../../../test/temporary-folder.ts';
import { until } from '../../../test/until.ts';
import { DEFAULT_BRAND } from '../../brand/brand.ts';
import { openStoredPackages, packageRoutes } from './packages.ts';
import { openTexts } from './texts.ts';

const database = await openTestDatabase();
const files = await openTestFolder();
const page = '# Install <div id="packages"></div>';
await mkdir(path.join(files.path, 'docs/packages'), { recursive: true });
await writeFile(path.join(files.path, 'docs/packages/index.html'), page);
await writeFile(path.join(files.path, 'docs/packages.md'), page);

const nameOf = (version: string) => `framewright-client-${version}.tgz`;
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** A process whose build has one package. */
async function openProcess(version: string, text: string) {
  const folder = path.join(files.path, crypto.randomUUID());
  await mkdir(folder);
  await writeFile(path.join(folder, nameOf(version)), text);
  const { log, lines } = recordingLog();
  const packages = openStoredPackages({ db: database.db, log, folder });
  await packages.storeBuild();
  const app: FastifyInstance = fastify();
  const publicUrl = () => 'https://video.example';
  const brand = { current: () => DEFAULT_BRAND, fixed: {} };
  packageRoutes(app, {
    texts: openTexts({ folder: files.path, publicUrl, brand, showsTestPatterns: false }),
    publicUrl,
    packages,
  });
  return { app, lines };
}

test('a version that was served stays served, by processes of older and newer ones', async () => {
  const old = await openProcess('1.0.0', 'first');
  const file = await old.app.inject(`/packages/${nameOf('1.0.0')}`);
  assert.deepEqual([file.statusCode, file.body], [200, 'first']);
  const young = await openProcess('1.10.0', 'second');
  const back = await openProcess('1.9.0', 'between'); // after a downgrade
  for (const { app } of [young, back]) {
    for (const [version, text] of [
      ['1.0.0', 'first'],
      ['1.10.0', 'second'],
    ] as const) {
      assert.equal((await app.inject(`/packages/${nameOf(version)}`)).body, text);
    }
  }
  const ofYoung = () => old.app.inject(`/packages/${nameOf('1.10.0')}`);
  await until(ofYoung, ({ statusCode }) => statusCode === 200);
  const { body } = await back.app.inject('/docs/packages.md');
  const listed = [...body.matchAll(/\| \[(\S+)\]\(https:\/\/video\.example\/packages\/\1\) \|/g)];
  const versions = ['1.10.0', '1.9.0', '1.0.0'];
  const names = listed.map(([, name]) => name);
  assert.deepEqual(names, versions.map(nameOf), 'the newest first');
});

test('a name keeps the file that was first served under it, and the log says so', async () => {
  const first = await openProcess('2.0.0', 'as released');
  assert.deepEqual(first.lines, []);
  const { app, lines } = await openProcess('2.0.0', 'changed since');
  assert.equal((await app.inject(`/packages/${nameOf('2.0.0')}`)).body, 'as released');
  assert.match(JSON.stringify(lines), /framewright-client-2\.0\.0\.tgz.*the old files stay/);
  const page = await app.inject('/packages/');
  assert.ok(page.body.includes(digestOf('as released')), page.body);
  assert.ok(!page.body.includes(digestOf('changed since')));
});

test('a file can be kept for ever by caches, and says what it is', async () => {
  const { app } = await openProcess('3.0.0', 'bytes');
  const url = `/packages/${nameOf('3.0.0')}`;
  const { headers } = await app.inject({ url, method: 'HEAD' });
  assert.equal(headers['content-length'], '5');
  assert.equal(headers['content-type'], 'application/gzip');
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.equal(headers.etag, `"${digestOf('bytes')}"`);
  const same = await app.inject({ url, headers: { 'if-none-match': `W/${headers.etag}` } });
  assert.deepEqual([same.statusCode, same.body], [304, '']);
});
