import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { SHARE_BYTES } from '../../test/app.ts';
import { quiet } from '../../test/database.ts';
import { assertError } from '../../test/envelope.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { sql, untilBlocked } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { until } from '../../test/until.ts';
import { taskMaker } from '../../test/website/own-tasks.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from '../../test/website/website.ts';
import { reopenAccount } from '../accounts/closing.ts';
import { createApp } from '../http/app.ts';
import { listActions } from '../operator/actions.ts';
import { eraseAccount } from '../operator/erase.ts';
import { FIND } from '../operator/verbs/find.ts';
import { takeDown } from '../operator/verbs/objects.ts';
import { SHARES } from '../operator/verbs/shares.ts';
import { closeAccount } from '../sign-in/deletion.ts';
import { pageRoutes } from '../site/pages/pages.ts';
import { markExpired } from '../storage/objects.ts';
import { openShares } from './shares.ts';

const DAY = 24 * 3600;
const VIDEO = SHARE_BYTES / 10;
const ACTION = { command: 'a test', actor: 'ada', reason: 'ticket 99' };

const website = await openTestWebsite();
const { db } = website.database;
const OPERATOR = { db, log: quiet, page: { limit: 9, after: undefined } };
const { shares } = website.deps;
assert.ok(shares);
const make = taskMaker(website.deps);
const { path: folder, ...files } = await temporaryFolder();
const frame = `<title>%brand%</title><!-- brand --><script src="/t.js"></script>
  <script type="module" src="/m.js"></script><!-- page -->`;
await writeFile(path.join(folder, 'docs.html'), frame);

/** Opens the public pages. @param shared undefined: SHARES=off */
function openPages(shared: typeof shares | undefined) {
  const presign = () => assert.fail('a presigned link outlives its share');
  const deps = { ...website.deps, shares: shared, storage: { ...website.deps.storage, presign } };
  const origins = { media: [], isSecure: true };
  const given = { ...deps, folder, origins, adminEmails: new Set(''), showsTestPatterns: false };
  return createApp({ ...deps, site: async (scope) => scope.register(pageRoutes, given) });
}

const pages = await openPages(shares);
const url = await pages.listen({ host: '127.0.0.1', port: 0 });
after(async () => {
  await pages.close();
  await files[Symbol.asyncDispose]();
});

let owner: TestVisitor;
let taskId = '';
beforeEach(async () => {
  await freezeClock(db, 0);
  owner = await website.signIn({ credits: 2000 });
  const [video, poster] = [Buffer.alloc(VIDEO), Buffer.from('a poster')];
  const prompt = 'A <b>lighthouse</b> at "dawn"';
  taskId = await make(owner.accountId, { prompt, ended: 'completed', video, poster });
});

const share = (days: number | null = null, showsPrompt = true, id = taskId) =>
  owner.write(`/console/api/tasks/${id}/share`, { shows_prompt: showsPrompt, days }, 'PUT');

/** Makes a share. @returns where it is, without the origin */
async function makeShare(days?: number | null, showsPrompt?: boolean): Promise<string> {
  const { status, body } = await share(days, showsPrompt);
  assert.equal(status, 200, JSON.stringify(body));
  return new URL(body.url).pathname;
}

const list = async () => (await owner.get(`/console/api/shares?task=${taskId}`)).body.items;
const endShare = async () => owner.delete(`/console/api/shares/${(await list())[0].id}`);
const embedOf = (page: string) => page.replace('/s/', '/embed/');

/** The responses of the page, the embedded player, the video and the poster. */
function fetchAll(page: string, app = pages) {
  const addresses = [page, embedOf(page), `${page}/video.mp4`, `${page}/poster.webp`];
  return Promise.all(addresses.map((address) => app.inject(address)));
}

async function assertAll(status: number, page: string, app = pages): Promise<void> {
  const found = (await fetchAll(page, app)).map(({ statusCode }) => statusCode);
  assert.deepEqual(found, Array(4).fill(status), page);
}

test('a page shows the video and the chosen prompt, and nothing else of the account', async () => {
  const objects = await sql<{ id: string }>(db, 'select id from stored_objects', []);
  const secrets = [taskId, owner.accountId, owner.email, ...objects.map(({ id }) => id)];
  for (const showsPrompt of [true, false]) {
    const page = await makeShare(null, showsPrompt);
    const [whole, embed, ...stored] = await fetchAll(page);
    for (const part of [
      `<meta property="og:image" content="${ORIGIN}${page}/poster.webp" />`,
      `<meta name="twitter:player" content="${ORIGIN}${embedOf(page)}" />`,
      '<meta name="robots" content="noindex" />',
      `src="${page}/video.mp4"`,
      `/report?video=${encodeURIComponent(`${ORIGIN}${page}`)}`,
      'Framewright',
    ]) {
      assert.ok(whole?.body.includes(part), `${part} in ${whole?.body}`);
    }
    const title = 'content="A &lt;b&gt;lighthouse&lt;/b&gt; at &quot;dawn&quot;"';
    assert.equal(whole?.body.includes(title), showsPrompt);
    assert.doesNotMatch(String(whole?.body), /<b>|type="module"/);
    assert.ok(embed?.body.includes(`href="${ORIGIN}${page}"`));
    assert.doesNotMatch(String(embed?.body), /<script|<form|<button|\/report/);
    for (const response of [whole, embed, ...stored]) {
      const { statusCode, headers = {}, body } = response ?? {};
      assert.deepEqual([statusCode, headers['cache-control']], [200, 'no-store']);
      assert.equal(headers['x-robots-tag'], 'noindex');
      const framedBy = response === embed ? /frame-ancestors \*(;|$)/ : /frame-ancestors 'none'/;
      assert.match(String(headers['content-security-policy']), framedBy);
      const said = JSON.stringify(headers) + body;
      for (const secret of [...secrets, 'set-cookie']) assert.ok(!said.includes(secret), secret);
    }
  }
});

const ENDS: Record<string, (link: string) => Promise<unknown>> = {
  'its owner, and a report by its link still names its video': async (link) => {
    await endShare();
    const given = { video: embedOf(link), reason: 'copyright', evidence: '' };
    await website.stranger.write('/console/api/reports', given);
    assert.deepEqual(await sql(db, 'select task_id from reports', []), [{ task_id: taskId }]);
  },
  'an operator, who finds it by its link': async (link) => {
    const [listed] = await SHARES['shares list'].prepare({})(OPERATOR, ACTION);
    const { found } = await FIND.find.prepare({ text: link })(OPERATOR, ACTION);
    assert.deepEqual([found[0]?.id, found[0]?.task_id], [listed?.id, taskId]);
    for (const changed of [true, false]) {
      const ended = await SHARES['shares end'].prepare({ id: link })(OPERATOR, ACTION);
      assert.deepEqual(ended, { share_id: listed?.id, task_id: taskId, changed });
    }
    const [recorded] = await listActions(db, { target: listed?.id, limit: 9 });
    assert.deepEqual([recorded?.actor, recorded?.reason], [ACTION.actor, ACTION.reason]);
  },
  'its date': () => freezeClock(db, 2 * DAY),
  deletion: () => owner.delete(`/console/api/tasks/${taskId}/output`),
  retention: async () => {
    await freezeClock(db, 8 * DAY);
    await markExpired(db);
  },
  'a takedown': () => takeDown(db, ACTION, taskId),
  'closing the account, also if it is made meanwhile, and the account reopened': async () => {
    let making = Promise.resolve<unknown>(undefined);
    await db.transaction(async (tx) => {
      await closeAccount(tx, owner.accountId);
      making = share().then((made) => assertError(made, 'invalid_request'));
      await untilBlocked(db);
    });
    await making;
    await db.transaction((tx) => reopenAccount(tx, owner.accountId));
  },
  'an erasure': async () => {
    await db.transaction((tx) => closeAccount(tx, owner.accountId));
    await freezeClock(db, 120);
    await eraseAccount(db, ACTION, owner.accountId);
    const left = 'select id from shares where account_id = $1';
    assert.deepEqual(await sql(db, left, [owner.accountId]), []);
  },
};

for (const [end, act] of Object.entries(ENDS)) {
  test(`a share ends at once by ${end}`, async () => {
    const page = await makeShare(end === 'its date' ? 2 : null);
    await assertAll(200, page);
    await act(`${ORIGIN}${page}`);
    await assertAll(404, page);
  });
}

test('a video that is being sent is cut off when its share ends, and counted as far', async () => {
  taskId = await make(owner.accountId, { ended: 'completed', video: Buffer.alloc(32e6) });
  const { body } = await fetch(`${url}${await makeShare()}/video.mp4`);
  const reader = body?.getReader();
  await reader?.read();
  await endShare();
  await shares.cutEnded();
  await assert.rejects(async () => {
    for (let part = await reader?.read(); part?.done === false; ) part = await reader?.read();
  });
  const counted = async () => {
    await shares.flush();
    const sent = 'select traffic_bytes as bytes from shares where task_id = $1';
    return (await sql<{ bytes: number }>(db, sent, [taskId]))[0]?.bytes ?? 0;
  };
  await until(counted, (bytes) => bytes > 0 && bytes < 31e6);
});

test('what can’t be shared is refused with the reason', async () => {
  const reasonFor = async (id: string) => (await share(null, true, id)).body.error.details.reason;
  const live = await make(owner.accountId);
  const failed = await make(owner.accountId, { ended: 'content_refused' });
  for (const id of [live, failed]) assert.equal(await reasonFor(id), 'no_video');
  for (const days of [0, 366, 1.5]) assertError(await share(days), 'invalid_request');
  const makeTest = `update tasks set surface = 'test', provider = 'scripted' where id = $1`;
  await sql(db, makeTest, [taskId]);
  assert.equal(await reasonFor(taskId), 'test_video');
});

test('making a share again returns the same one until it ends, and another one then', async () => {
  const page = await makeShare(7, false);
  assert.deepEqual(await Promise.all([makeShare(), makeShare(30), makeShare(7)]), [
    page,
    page,
    page,
  ]);
  assert.equal((await list())[0].shows_prompt, true);
  await endShare();
  assertError(await endShare(), 'not_found');
  const second = await makeShare(1);
  await freezeClock(db, 2 * DAY);
  const third = await makeShare();
  assert.equal(new Set([page, second, third]).size, 3);
  const open = (await list()).map((one: { is_open: boolean }) => one.is_open);
  assert.deepEqual(open, [true, false, false]);
});

test('an id, a forged token and a service with SHARES=off open nothing', async () => {
  const page = await makeShare();
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

test('views are counted, and bytes up to the limit of a day, also of parallel requests', async () => {
  const page = await makeShare();
  const half = { range: `bytes=${VIDEO / 2}-` };
  const watch = async () => (await fetch(`${url}${page}/video.mp4`, { headers: half })).status;
  for (const method of ['HEAD', 'GET'] as const) await pages.inject({ url: page, method });
  await pages.inject(embedOf(page));
  const statuses = await Promise.all(Array.from({ length: 30 }, watch));
  do {
    await shares.flush();
    statuses.push(await watch());
  } while (statuses.at(-1) === 206);
  assert.equal(statuses.filter((status) => status === 206).length, 20);
  await assertAll(429, page);
  assert.equal((await list())[0].views, 2);
  const another = openShares({ ...website.deps, dailyBytes: SHARE_BYTES });
  assert.equal((await another.find(page.slice(3)))?.isOverLimit, true);
  await another.stop();
  const { headers, body } = await pages.inject(page);
  assert.equal(headers['retry-after'], String(DAY));
  assert.match(body, /watched too often today/);
  await freezeClock(db, DAY);
  await assertAll(200, page);
});
