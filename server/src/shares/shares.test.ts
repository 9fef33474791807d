import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { quiet } from '../../test/database.ts';
import { assertError } from '../../test/envelope.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { sql } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { until } from '../../test/until.ts';
import { taskMaker } from '../../test/website/own-tasks.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from '../../test/website/website.ts';
import { createApp } from '../http/app.ts';
import { eraseAccount } from '../operator/erase.ts';
import { takeDown } from '../operator/verbs/objects.ts';
import { closeAccount } from '../sign-in/deletion.ts';
import { pageRoutes } from '../site/pages/pages.ts';
import { markExpired } from '../storage/objects.ts';
import { openShares, type Shares } from './shares.ts';

const DAY = 24 * 3600;
const PROMPT = 'A <b>lighthouse</b> at "dawn"';
const VIDEO = 1000;
const LIMIT = 10 * VIDEO;
const ACTION = { command: 'a test', actor: 'ada', reason: 'ticket 99' };

const website = await openTestWebsite();
const { db } = website.database;
const make = taskMaker(website.deps);
const files = await temporaryFolder();
const { links } = website.deps;
const shares = openShares({ db, log: quiet, links, dailyBytes: LIMIT });
let pages: FastifyInstance;
let url = '';

/** The pages of an installation; undefined: with SHARES=off. */
function openPages(shared: Shares | undefined) {
  return createApp({
    ...website.deps,
    shares: shared,
    site: async (scope) => {
      const adminEmails = new Set<string>();
      const origins = { media: [], isSecure: true };
      const given = { folder: files.path, origins, adminEmails, showsTestPatterns: false };
      await scope.register(pageRoutes, { ...website.deps, ...given, shares: shared });
    },
  });
}

before(async () => {
  const frame = `<title>%brand%</title><!-- brand --><script src="/t.js"></script>
    <script type="module" src="/m.js"></script><!-- page -->`;
  await writeFile(path.join(files.path, 'docs.html'), frame);
  pages = await openPages(shares);
  url = await pages.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  await pages.close();
  await shares.stop();
  await website.close();
  await files[Symbol.asyncDispose]();
});

let owner: TestVisitor;
let taskId = '';
beforeEach(async () => {
  await freezeClock(db, 0);
  owner = await website.signIn({ credits: 1000 });
  const [video, poster] = [Buffer.alloc(VIDEO), Buffer.from('a poster')];
  taskId = await make(owner.accountId, { prompt: PROMPT, ended: 'completed', video, poster });
});

const share = (days: number | null = null, showsPrompt = true, id = taskId) =>
  owner.write(`/console/api/tasks/${id}/share`, { shows_prompt: showsPrompt, days }, 'PUT');

/** Makes a share. @returns where it is, without the origin */
async function shared(days?: number | null, showsPrompt?: boolean): Promise<string> {
  const { status, body } = await share(days, showsPrompt);
  assert.equal(status, 200, JSON.stringify(body));
  return new URL(body.url).pathname;
}

const list = async () => (await owner.get(`/console/api/shares?task=${taskId}`)).body.items;
const endShare = async () => owner.delete(`/console/api/shares/${(await list())[0].id}`);
const embedOf = (page: string) => page.replace('/s/', '/embed/');

/** The responses of the page, the embedded player, the video and the poster. */
function all(page: string, app = pages) {
  const addresses = [page, embedOf(page), `${page}/video.mp4`, `${page}/poster.webp`];
  return Promise.all(addresses.map((address) => app.inject(address)));
}

async function assertAll(status: number, page: string, app = pages): Promise<void> {
  const found = (await all(page, app)).map(({ statusCode }) => statusCode);
  assert.deepEqual(found, Array(4).fill(status), page);
}

test('a page shows the video and the chosen prompt, and nothing else of the account', async () => {
  const objects = await sql<{ id: string }>(db, 'select id from stored_objects', []);
  const secrets = [taskId, owner.accountId, owner.email, ...objects.map(({ id }) => id)];
  for (const showsPrompt of [true, false]) {
    const page = await shared(null, showsPrompt);
    const { body, headers } = await pages.inject({ url: page, headers: { cookie: owner.cookie } });
    for (const part of [
      `<meta property="og:image" content="${ORIGIN}${page}/poster.webp" />`,
      `<meta name="twitter:player" content="${ORIGIN}${embedOf(page)}" />`,
      '<meta name="robots" content="noindex" />',
      `src="${page}/video.mp4"`,
      `/report?video=${encodeURIComponent(`${ORIGIN}${page}`)}`,
      'Framewright',
    ]) {
      assert.ok(body.includes(part), `${part} in ${body}`);
    }
    assert.equal(body.includes('&lt;b&gt;lighthouse'), showsPrompt);
    assert.doesNotMatch(body, /<b>|type="module"/);
    assert.equal(headers['x-robots-tag'], 'noindex');
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /script-src 'self'.*frame-ancestors 'none'/);
    for (const { statusCode, headers, body } of await all(page)) {
      const said = JSON.stringify(headers) + body;
      assert.equal(statusCode, 200);
      for (const secret of [...secrets, 'set-cookie']) assert.ok(!said.includes(secret), secret);
    }
  }
});

test('only the embedded player may be framed, and it has no script and no form', async () => {
  const page = await shared();
  const { headers, body } = await pages.inject(embedOf(page));
  assert.match(String(headers['content-security-policy']), /frame-ancestors \*(;|$)/);
  assert.doesNotMatch(body, /<script|<form|<button|\/report/);
  assert.ok(body.includes(`href="${ORIGIN}${page}"`));
});

const close = () => db.transaction((tx) => closeAccount(tx, owner.accountId));

for (const [end, act] of Object.entries({
  'its owner': endShare,
  'its date': () => freezeClock(db, 2 * DAY),
  deletion: () => owner.delete(`/console/api/tasks/${taskId}/output`),
  retention: async () => {
    await freezeClock(db, 8 * DAY);
    await markExpired(db);
  },
  'a takedown': () => takeDown(db, ACTION, taskId),
  'a closed account': close,
  'an erasure': async () => {
    await close();
    await freezeClock(db, 120);
    await eraseAccount(db, ACTION, owner.accountId);
    const left = 'select id from shares where account_id = $1';
    assert.deepEqual(await sql(db, left, [owner.accountId]), []);
  },
})) {
  test(`a share ends at once by ${end}`, async () => {
    const page = await shared(end === 'its date' ? 2 : null);
    await assertAll(200, page);
    await act();
    await assertAll(404, page);
  });
}

test('what can’t be shared is refused with the reason', async () => {
  const live = await make(owner.accountId);
  const failed = await make(owner.accountId, { ended: 'content_refused' });
  for (const id of [live, failed]) {
    assert.equal((await share(null, true, id)).body.error.details.reason, 'no_video');
  }
  for (const days of [0, 366, 1.5]) assertError(await share(days), 'invalid_request');
  const makeTest = `update tasks set surface = 'test', provider = 'scripted' where id = $1`;
  await sql(db, makeTest, [taskId]);
  const refused = await share();
  assertError(refused, 'invalid_request');
  assert.equal(refused.body.error.details.reason, 'test_video');
});

test('making a share again returns the same one until it ends, and another one then', async () => {
  const page = await shared(7, false);
  assert.deepEqual(await Promise.all([shared(), shared(30), shared(7)]), [page, page, page]);
  assert.equal((await list())[0].shows_prompt, true);
  await endShare();
  assertError(await endShare(), 'not_found');
  const second = await shared(1);
  await freezeClock(db, 2 * DAY);
  const third = await shared();
  assert.equal(new Set([page, second, third]).size, 3);
  const open = (await list()).map((one: { is_open: boolean }) => one.is_open);
  assert.deepEqual(open, [true, false, false]);
  await assertAll(404, second);
  await assertAll(200, third);
});

test('an id, a forged token and a service with SHARES=off open nothing', async () => {
  const page = await shared();
  const [{ id }] = await list();
  const forged = `${page.slice(0, -1)}${page.endsWith('A') ? 'B' : 'A'}`;
  for (const wrong of [`/s/${id}`, `/s/${id.slice(6)}`, forged, `${page}A`]) {
    await assertAll(404, wrong);
  }
  assert.equal((await pages.inject(`${page}/another.mp4`)).statusCode, 404);
  const off = await openPages(undefined);
  await assertAll(404, page, off);
  await off.close();
});

test('views are counted, and bytes up to the limit of a day', async () => {
  const page = await shared();
  const bytesOf = async (range: string) => {
    const response = await fetch(`${url}${page}/video.mp4`, { headers: { range } });
    await response.arrayBuffer();
    return response.status;
  };
  for (const method of ['HEAD', 'GET'] as const) await pages.inject({ url: page, method });
  await pages.inject(embedOf(page));
  for (let sent = VIDEO; sent < LIMIT; sent += VIDEO) assert.equal(await bytesOf('bytes=0-'), 206);
  assert.equal(await bytesOf('bytes=1-'), 206);
  await shares.flush();
  assert.equal((await list())[0].views, 2);
  assert.deepEqual([await bytesOf('bytes=0-0'), await bytesOf('bytes=0-0')], [206, 429]);
  await assertAll(429, page);
  const { headers, body } = await pages.inject(page);
  assert.equal(headers['retry-after'], String(DAY));
  assert.match(body, /watched too often today/);
  await freezeClock(db, DAY);
  await assertAll(200, page);
});

test('bytes that a viewer does not take are not counted', async () => {
  taskId = await make(owner.accountId, { ended: 'completed', video: Buffer.alloc(32e6) });
  const viewer = new AbortController();
  const address = `${url}${await shared()}/video.mp4`;
  const { body } = await fetch(address, { signal: viewer.signal });
  await body?.getReader().read();
  viewer.abort();
  const counted = async () => {
    await shares.flush();
    const sent = 'select traffic_bytes as bytes from shares where task_id = $1';
    return (await sql<{ bytes: number }>(db, sent, [taskId]))[0]?.bytes ?? 0;
  };
  await until(counted, (bytes) => bytes > 0 && bytes < 31e6);
});

test('a report by the link of a share names its video, also after its end', async () => {
  const page = await shared();
  const report = (address: string) =>
    website.stranger.write('/console/api/reports', {
      video: `${ORIGIN}${address}`,
      reason: 'copyright',
      evidence: '',
    });
  await report(embedOf(page));
  await endShare();
  await report(page);
  const found = await sql(db, 'select task_id from reports', []);
  assert.deepEqual(found, [{ task_id: taskId }, { task_id: taskId }]);
});
