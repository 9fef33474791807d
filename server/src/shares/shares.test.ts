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
  const video = Buffer.alloc(VIDEO, 'v');
  taskId = await make(owner.accountId, {
    prompt: PROMPT,
    ended: 'completed',
    video,
    poster: Buffer.from('a poster'),
  });
});

const share = (days: number | null = null, showsPrompt = true, id = taskId) =>
  owner.write(`/console/api/tasks/${id}/share`, { shows_prompt: showsPrompt, days }, 'PUT');

/** Where a new share is, without the origin. */
async function shared(days: number | null = null, showsPrompt = true): Promise<string> {
  const { status, body } = await share(days, showsPrompt);
  assert.equal(status, 200, JSON.stringify(body));
  return new URL(body.url).pathname;
}

const embedOf = (page: string) => page.replace('/s/', '/embed/');
const addressesOf = (page: string) =>
  [page, embedOf(page), `${page}/video.mp4`, `${page}/poster.webp`] as const;

async function statuses(page: string, app = pages): Promise<number[]> {
  const responses = addressesOf(page).map((address) => app.inject(address));
  return (await Promise.all(responses)).map(({ statusCode }) => statusCode);
}

const OPEN = [200, 200, 200, 200];
const CLOSED = [404, 404, 404, 404];

test('a page shows the video and the chosen prompt, and says nothing else of the account', async () => {
  for (const showsPrompt of [true, false]) {
    const page = await shared(null, showsPrompt);
    assert.deepEqual(await statuses(page), OPEN);
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
    assert.ok(!body.includes('<b>'));
    const answers = await Promise.all(addressesOf(page).map((address) => pages.inject(address)));
    const said = answers.map((answer) => JSON.stringify(answer.headers) + answer.body).join();
    const objects = await sql<{ id: string }>(db, 'select id from stored_objects', []);
    const secrets = [
      taskId,
      owner.accountId,
      owner.email,
      'set-cookie',
      ...objects.map(({ id }) => id),
    ];
    for (const secret of secrets) assert.ok(!said.includes(secret), secret);
    assert.equal(headers['x-robots-tag'], 'noindex');
    assert.match(
      String(headers['content-security-policy']),
      /script-src 'self'.*frame-ancestors 'none'/,
    );
    assert.doesNotMatch(body, /type="module"/);
  }
});

test('only the embedded player may be framed, and it has no script and no form', async () => {
  const page = await shared();
  const { headers, body } = await pages.inject(embedOf(page));
  assert.match(String(headers['content-security-policy']), /frame-ancestors \*(;|$)/);
  assert.doesNotMatch(body, /<script|<form|<button|\/report/);
  assert.ok(body.includes(`href="${ORIGIN}${page}"`));
});

const ENDS: Record<string, (page: string, id: string) => Promise<unknown>> = {
  'its owner': (_, id) => owner.delete(`/console/api/shares/${id}`),
  'its date': () => freezeClock(db, 2 * DAY),
  deletion: () => owner.delete(`/console/api/tasks/${taskId}/output`),
  retention: async () => {
    await freezeClock(db, 8 * DAY);
    await markExpired(db);
  },
  'a takedown': () => takeDown(db, ACTION, taskId),
  'a closed account': () => db.transaction((tx) => closeAccount(tx, owner.accountId)),
  'an erasure': async () => {
    await db.transaction((tx) => closeAccount(tx, owner.accountId));
    await freezeClock(db, 120);
    await eraseAccount(db, ACTION, owner.accountId);
    assert.deepEqual(
      await sql(db, 'select id from shares where account_id = $1', [owner.accountId]),
      [],
    );
  },
};

for (const [end, act] of Object.entries(ENDS)) {
  test(`a share ends at once by ${end}`, async () => {
    const page = await shared(end === 'its date' ? 2 : null);
    const { body } = await owner.get('/console/api/shares');
    assert.deepEqual(await statuses(page), OPEN);
    await act(page, body.items[0].id);
    assert.deepEqual(await statuses(page), CLOSED);
  });
}

test('what can’t be shared is refused with the reason', async () => {
  const live = await make(owner.accountId);
  const failed = await make(owner.accountId, { ended: 'content_refused' });
  const testVideo = await make(owner.accountId, { ended: 'completed' });
  const change = `update tasks set surface = 'test', provider = 'scripted' where id = $1`;
  await sql(db, change, [testVideo]);
  for (const [id, reason] of [
    [live, 'no_video'],
    [failed, 'no_video'],
    [testVideo, 'test_video'],
  ] as const) {
    const refused = await share(null, true, id);
    assertError(refused, 'invalid_request');
    assert.equal(refused.body.error.details.reason, reason);
  }
  for (const days of [0, 366, 1.5]) assertError(await share(days), 'invalid_request');
  const stranger = await website.signIn();
  const body = { shows_prompt: true, days: null };
  assertError(await stranger.write(`/console/api/tasks/${taskId}/share`, body, 'PUT'), 'not_found');
});

test('making a share again returns the same one until it ends, and another one then', async () => {
  const page = await shared(7, false);
  assert.equal(await shared(30, true), page);
  assert.deepEqual(new Set(await Promise.all([shared(), shared(), shared()])), new Set([page]));
  const list = async () => (await owner.get(`/console/api/shares?task=${taskId}`)).body.items;
  const [first] = await list();
  assert.deepEqual([first.is_open, first.shows_prompt, first.ends_at], [true, true, null]);
  await owner.delete(`/console/api/shares/${first.id}`);
  assertError(await owner.delete(`/console/api/shares/${first.id}`), 'not_found');
  const second = await shared(1);
  await freezeClock(db, 2 * DAY);
  const third = await shared();
  assert.equal(new Set([page, second, third]).size, 3);
  assert.deepEqual(
    (await list()).map((one: { is_open: boolean }) => one.is_open),
    [true, false, false],
  );
  assert.deepEqual([await statuses(second), await statuses(third)], [CLOSED, OPEN]);
});

test('an id, a forged token and a service with SHARES=off open nothing', async () => {
  const page = await shared();
  const [{ id }] = (await owner.get('/console/api/shares')).body.items;
  const ending = page.endsWith('A') ? 'B' : 'A';
  const forged = [`/s/${id}`, `/s/${id.slice(6)}`, `${page.slice(0, -1)}${ending}`, `${page}A`];
  for (const address of forged) assert.deepEqual(await statuses(address), CLOSED, address);
  assert.equal((await pages.inject(`${page}/another.mp4`)).statusCode, 404);
  await using off = {
    app: await openPages(undefined),
    [Symbol.asyncDispose]: () => off.app.close(),
  };
  assert.deepEqual(await statuses(page, off.app), CLOSED);
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
  for (let sent = 0; sent < LIMIT - VIDEO; sent += VIDEO) {
    assert.equal(await bytesOf('bytes=0-'), 206);
  }
  assert.equal(await bytesOf('bytes=1-'), 206);
  await shares.flush();
  const [{ views }] = (await owner.get('/console/api/shares')).body.items;
  assert.equal(views, 2);
  assert.equal(await bytesOf('bytes=0-0'), 206);
  assert.equal(await bytesOf('bytes=0-0'), 429);
  assert.deepEqual(await statuses(page), [429, 429, 429, 429]);
  const { headers, body } = await pages.inject(page);
  assert.equal(headers['retry-after'], String(DAY));
  assert.match(body, /watched too often today/);
  await freezeClock(db, DAY);
  assert.deepEqual(await statuses(page), OPEN);
});

test('bytes that a viewer does not take are not counted', async () => {
  const video = Buffer.alloc(32e6, 'v');
  taskId = await make(owner.accountId, { ended: 'completed', video });
  const page = await shared();
  const viewer = new AbortController();
  const { body } = await fetch(`${url}${page}/video.mp4`, { signal: viewer.signal });
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
  const [{ id }] = (await owner.get('/console/api/shares')).body.items;
  const report = { video: `${ORIGIN}${embedOf(page)}`, reason: 'copyright', evidence: '' };
  await website.stranger.write('/console/api/reports', report);
  await owner.delete(`/console/api/shares/${id}`);
  await website.stranger.write('/console/api/reports', { ...report, video: `${ORIGIN}${page}` });
  const found = await sql(db, 'select task_id from reports', []);
  assert.deepEqual(found, [{ task_id: taskId }, { task_id: taskId }]);
});
