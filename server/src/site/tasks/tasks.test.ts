import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { REQUEST, sql } from '../../../test/task-fixtures.ts';
import { taskMaker } from '../../../test/website/own-tasks.ts';
import { openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { createKey } from '../../accounts/api-keys.ts';
import { grant } from '../../ledger/ledger.ts';
import type { VideoItem } from './gallery.ts';

const TASKS = '/console/api/tasks';
const POSTER = Buffer.from('RIFF....WEBPVP8 a picture');

const website = await openTestWebsite();
const make = taskMaker(website.deps);
const ada = await website.signIn({ credits: 100_000 });
after(() => website.close());

async function listed(visitor: TestVisitor, query = ''): Promise<VideoItem[]> {
  const { status, body } = await visitor.get(`${TASKS}${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.items;
}

const idsOf = (items: VideoItem[]) => items.map(({ id }) => id);

test('the list has all tasks of the account, the newest first, and no other ones', async () => {
  const carl = await website.signIn({ credits: 1000 });
  const old = await make(carl.accountId, { ended: 'completed', createdAt: '2026-01-05T12:00:00Z' });
  const web = await make(carl.accountId, { surface: 'web' });
  await make(ada.accountId);
  const items = await listed(carl);
  assert.deepEqual(idsOf(items), [web, old]);
  const [processing, completed] = items;
  assert.deepEqual(
    [processing?.status, processing?.label, processing?.video_url, processing?.poster_url],
    ['processing', 'Waiting to start', null, null],
  );
  assert.match(completed?.video_url ?? '', /\/media\/obj_/);
  assert.deepEqual([completed?.width, completed?.height], [1280, 720]);
});

test('each filter finds its tasks, and filters can be combined', async () => {
  const eve = await website.signIn({ credits: 10_000 });
  const { keyId } = await createKey(website.database.db, { accountId: eve.accountId });
  const done = await make(eve.accountId, {
    ended: 'completed',
    model: 'video-2.0',
    apiKeyId: keyId,
    prompt: 'A Lighthouse at 100% dawn_',
    createdAt: '2026-02-01T23:59:59Z',
  });
  const failed = await make(eve.accountId, {
    ended: 'content_refused',
    createdAt: '2026-02-02T00:00:00Z',
    prompt: 'A harbour',
  });
  const live = await make(eve.accountId, { surface: 'web', prompt: 'Wide fields' });
  const finds = async (query: string, ...ids: string[]) =>
    assert.deepEqual(idsOf(await listed(eve, query)), ids, query);
  await finds('?state=completed', done);
  await finds('?state=failed', failed);
  await finds('?state=processing', live);
  await finds('?model=video-2.0', done);
  await finds(`?key=${keyId}`, done);
  await finds('?surface=web', live);
  await finds('?from=2026-02-02&to=2026-02-02', failed);
  await finds('?to=2026-02-01', done);
  await finds('?text=LIGHTHOUSE', done);
  await finds('?text=100%25', done);
  await finds('?text=_', done);
  await finds('?text=%25', done);
  await finds(`?text=${encodeURIComponent("' or 1=1 --")}`);
  await finds('?text=%00');
  await finds('?text=a&state=failed&surface=api', failed);
});

test('a search that has looked at its share of tasks goes on from there', async () => {
  const { db } = website.database;
  const hal = await website.signIn({ credits: 1000 });
  const wanted = await make(hal.accountId, {
    prompt: 'A needle',
    ended: 'content_refused',
    createdAt: '2026-01-01T00:00:00Z',
  });
  await sql(
    db,
    `insert into tasks (id, account_id, surface, idempotency_key, phase, request, seed, credits,
       price_version, provider, wait_until, error_code, created_at)
     select 'task_hay' || n, $1, 'api', 'hay' || n, 'failed', request || '{"prompt": "Hay"}', 1,
       250, 1, provider, clock_now(), 'cancelled', clock_now() - n * interval '1 second'
     from tasks cross join generate_series(1, 2100) n where id = $2`,
    [hal.accountId, wanted],
  );
  const first = await hal.get(`${TASKS}?text=needle`);
  assert.deepEqual(first.body.items, []);
  const cursor = encodeURIComponent(first.body.next);
  const second = await hal.get(`${TASKS}?text=needle&cursor=${cursor}`);
  assert.deepEqual([idsOf(second.body.items), second.body.next], [[wanted], null]);
});

test('a malformed filter or cursor gets 400', async () => {
  const bad = ['state=gone', 'model=x', 'from=2026-02-30', 'to=yesterday', 'limit=0', 'limit=101'];
  for (const query of [...bad, 'cursor=x', 'cursor=2026-99-01%2000:00:00%2B00%20task_1', 'no=1']) {
    assertError(await ada.get(`${TASKS}?${query}`), 'invalid_request');
  }
});

test('the page of a task shows its course, its credits of both kinds and its request', async () => {
  const gil = await website.signIn({ credits: 200 });
  const given = { accountId: gil.accountId, credits: 100, reference: 'g' };
  await grant(website.database.db, { ...given, kind: 'promotional' });
  const id = await make(gil.accountId, { ended: 'completed', poster: POSTER, surface: 'web' });
  await sql(
    website.database.db,
    `insert into task_history (task_id, at, phase, cause)
     select task_id, at, phase, '{"connection": "ark", "next": "fal"}' from task_history
     where task_id = $1 and phase = 'submitting'`,
    [id],
  );
  const { body } = await gil.get(`${TASKS}/${id}`);
  assert.deepEqual(
    body.timeline.map(({ label }: { label: string }) => label),
    ['Received', 'Submitting', 'Generating', 'Saving the video', 'Completed'],
  );
  assert.deepEqual(
    body.movements.map((one: object) =>
      Object.values({ ...one, at: '' })
        .join(' ')
        .trim(),
    ),
    ['paid reserve 150', 'promotional reserve 100', 'paid capture 150', 'promotional capture 100'],
  );
  assert.deepEqual([body.charge, body.held, body.failure], ['charged', null, null]);
  assert.deepEqual([body.request.prompt, body.request_id], [REQUEST.prompt, 'req_test']);
  assert.ok(!('reference_image_urls' in body.request), 'another mode would refuse it');
  const { state, deletes_at, size_bytes, video_codec, audio_codec } = body.video;
  assert.deepEqual([state, size_bytes, video_codec, audio_codec], ['ready', 7, 'h264', 'aac']);
  assert.ok(Date.parse(deletes_at) > Date.now());
  assert.deepEqual(body.video.credentials, {
    made_by_ai: true,
    model: REQUEST.model,
    at: '2026-11-28T12:00:00.000Z',
  });
  assert.equal(body.poster_url, `${TASKS}/${id}/poster`);
});

test('a video that was deleted says so, and has no link', async () => {
  const id = await make(ada.accountId, { ended: 'completed', poster: POSTER });
  const remove = `update stored_objects set state = 'deleted' where owner_id = $1`;
  await sql(website.database.db, remove, [id]);
  const { body } = await ada.get(`${TASKS}/${id}`);
  assert.deepEqual(
    [body.status, body.charge, body.video.state],
    ['completed', 'charged', 'deleted'],
  );
  assert.deepEqual([body.video_url, body.poster_url], [null, null]);
  assertError(await ada.get(`${TASKS}/${id}/poster`), 'not_found');
  const [item] = await listed(ada);
  assert.deepEqual([item?.id, item?.video_url, item?.poster_url], [id, null, null]);
});

test('a refused file is named with its reason, and what was not charged is said', async () => {
  const id = await make(ada.accountId, { ended: 'invalid_media' });
  const request = {
    mode: 'media-to-video',
    reference_video_urls: ['https://a.test/v'],
    reference_image_urls: ['https://a.test/0', 'https://a.test/1', 'https://a.test/2'],
  };
  const field = 'reference_image_urls';
  const accepted = {
    field,
    entry: 0,
    objectId: 'obj_x',
    role: 'reference_image',
    mediaType: 'image/png',
    width: 640,
    height: 480,
    durationSeconds: null,
  };
  const inputs = [
    { field, index: 1, reason: 'undecodable', message: 'It is damaged.' },
    { field, index: 2, reason: 'not_an_image', message: 'It is a page.' },
  ];
  const details = { field, entry: 1, reason: 'undecodable', inputs };
  await sql(
    website.database.db,
    `update tasks set request = request || $2::jsonb, inputs = $3::jsonb, error_details = $4::jsonb
     where id = $1`,
    [id, ...[request, [accepted], details].map((value) => JSON.stringify(value))],
  );
  const { body } = await ada.get(`${TASKS}/${id}`);
  const shown = body.inputs.map((one: Record<string, unknown>) => {
    return [one.url, one.verdict, one.width, one.reason];
  });
  assert.deepEqual(shown, [
    ['https://a.test/0', 'accepted', 640, null],
    ['https://a.test/1', 'refused', null, 'It failed: invalid_media.'],
    ['https://a.test/2', 'refused', null, 'It is a page.'],
    ['https://a.test/v', 'unused', null, null],
  ]);
  assert.deepEqual([body.charge, body.failure.code], ['refunded', 'invalid_media']);
  assert.match(body.failure.advice, /another file/);
});

test('a cancelled task says who cancelled it, as far as that was recorded', async () => {
  const id = await make(ada.accountId, { ended: 'cancelled' });
  const cases: [cause: object | null, advice: RegExp][] = [
    [{ cancelled_by: 'customer' }, /^You cancelled it/],
    [{ job: 'j', cancelled: true, cancelled_by: 'operator' }, /^The operator of this service/],
    [{ job: 'j', cancelled: true }, /^You or the operator of this service/],
    [null, /^You or the operator of this service/],
  ];
  for (const [cause, advice] of cases) {
    const update = `update task_history set cause = $2 where task_id = $1 and phase = 'failed'`;
    await sql(website.database.db, update, [id, cause === null ? null : JSON.stringify(cause)]);
    assert.match((await ada.get(`${TASKS}/${id}`)).body.failure.advice, advice);
  }
});

test('a held task says what that means, and nothing of its provider', async () => {
  const id = await make(ada.accountId);
  const { db } = website.database;
  await sql(
    db,
    `update tasks set phase = 'held', held_cause = 'acceptance', provider = 'secret-provider',
       provider_output = '{"url": "https://secret-provider.test"}' where id = $1`,
    [id],
  );
  await sql(
    db,
    `insert into task_history (task_id, phase, cause)
     values ($1, 'held', '{"cause": "secret-provider said no"}')`,
    [id],
  );
  const { body } = await ada.get(`${TASKS}/${id}`);
  assert.equal(body.status, 'processing');
  assert.match(body.held, /credits stay reserved/);
  assert.equal(body.timeline.at(-1).label, 'Being checked');
  assert.doesNotMatch(JSON.stringify(body), /secret-provider/);
});

function inject(visitor: TestVisitor, url: string, headers = {}) {
  return website.app.inject({ url, headers: { cookie: visitor.cookie, ...headers } });
}

test('a poster is sent to its account, and kept by the browser for that session', async () => {
  const id = await make(ada.accountId, { ended: 'completed', poster: POSTER });
  const url = `${TASKS}/${id}/poster`;
  const { headers, rawPayload, statusCode } = await inject(ada, url);
  assert.deepEqual([statusCode, rawPayload.equals(POSTER)], [200, true]);
  assert.equal(headers['content-type'], 'image/webp');
  assert.equal(headers['cache-control'], 'private, max-age=3600');
  assert.equal(headers.vary, 'cookie');
  const again = await inject(ada, url, { 'if-none-match': headers.etag });
  assert.equal(again.statusCode, 304);
  const none = await make(ada.accountId, { ended: 'completed' });
  assertError(await ada.get(`${TASKS}/${none}/poster`), 'not_found');
  assertError(await ada.get(`${TASKS}/%00/poster`), 'not_found');
});

test('usage has a row for each day, model and key; refunds are subtracted', async () => {
  const { db } = website.database;
  const ivy = await website.signIn({ credits: 100_000 });
  const name = '=HYPERLINK("https://evil.test")';
  const { keyId } = await createKey(db, { accountId: ivy.accountId, name });
  const at = (day: string) => ({ createdAt: `${day}T23:59:59.9Z`, apiKeyId: keyId });
  await make(ivy.accountId, { ...at('2026-04-01'), ended: 'content_refused' });
  await make(ivy.accountId, { ...at('2026-04-01'), ended: 'completed' });
  await make(ivy.accountId, { ...at('2026-04-02'), ended: 'completed', model: 'video-2.0' });
  await make(ivy.accountId, { createdAt: '2026-04-02T00:00:00Z', surface: 'web' });
  await sql(db, `update tasks set surface = 'test', provider = 'scripted' where id = $1`, [
    await make(ivy.accountId, { ...at('2026-04-02'), ended: 'completed' }),
  ]);
  const period = '?from=2026-04-01&to=2026-04-02';
  const { body } = await ivy.get(`/console/api/usage${period}`);
  const [first, web, other] = body.rows.sort((a: { day: string }, b: { day: string }) =>
    a.day.localeCompare(b.day),
  );
  assert.deepEqual(first, {
    day: '2026-04-01',
    model: 'video-2.0-fast',
    surface: 'api',
    api_key_id: keyId,
    tasks: 2,
    videos: 1,
    failed: 1,
    credits: 250,
    api_key_name: name,
  });
  assert.deepEqual([web.credits + other.credits, body.rows.length], [500, 3]);
  const csv = await ivy.get(`/console/api/usage.csv${period}`);
  assert.match(String(csv.headers['content-disposition']), /usage-2026-04-01-2026-04-02\.csv/);
  assert.match(
    csv.body,
    /^day,model,surface,api_key_id,api_key_name,tasks,videos,failed,credits\r/,
  );
  assert.ok(csv.body.includes(`"'=HYPERLINK(""https://evil.test"")"`), csv.body);
  assert.ok(!/,=/.test(csv.body));
  const bad = ['from=2026-04-02&to=2026-04-01', 'from=2024-01-01&to=2026-01-01', 'from=soon'];
  for (const query of bad) {
    assertError(await ivy.get(`/console/api/usage?${query}`), 'invalid_request');
  }
});

test('a person cancels an own task and deletes an own video', async () => {
  const live = await make(ada.accountId, { surface: 'web' });
  const done = await make(ada.accountId, { ended: 'completed' });
  const cancelled = await ada.write(`${TASKS}/${live}/cancel`);
  assert.deepEqual(cancelled.body, { cancel: 'cancelled', refusal: null });
  assert.deepEqual((await ada.delete(`${TASKS}/${done}/output`)).body, { deleted: true });
  const [first, second] = await Promise.all(
    [live, done].map(async (id) => (await ada.get(`${TASKS}/${id}`)).body),
  );
  assert.deepEqual([first.status, first.charge], ['failed', 'refunded']);
  assert.match(first.failure.advice, /^You cancelled it/);
  assert.deepEqual([second.status, second.video.state], ['completed', 'deleted']);
  assertError(await ada.write(`${TASKS}/${done}/cancel`), 'not_cancellable');
});
