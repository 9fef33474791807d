import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { assertError } from '../../../test/envelope.ts';
import { REQUEST, sql } from '../../../test/task-fixtures.ts';
import { taskMaker } from '../../../test/website/own-tasks.ts';
import { openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { createKey } from '../../accounts/api-keys.ts';
import { eraseOf } from '../../attempts/erase.ts';
import { grant } from '../../ledger/ledger.ts';
import { takeDown } from '../../operator/verbs/objects.ts';
import type { VideoItem } from './gallery.ts';

const TASKS = '/console/api/tasks';
const ACTION = { command: 'objects takedown', actor: 'test', reason: null };
const POSTER = Buffer.from('RIFF....WEBPVP8 a picture');

const website = await openTestWebsite();
const { db } = website.database;
const make = taskMaker(website.deps);
const ada = await website.signIn({ credits: 100_000 });

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
  const { keyId } = await createKey(db, { accountId: eve.accountId });
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

test('a search that has looked at as many tasks as it may continues by its cursor', async () => {
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

test('the page of a task shows its timeline, its credits of both kinds and its request', async () => {
  const gil = await website.signIn({ credits: 200 });
  const given = { accountId: gil.accountId, credits: 100, reference: 'g' };
  await grant(db, { ...given, kind: 'promotional' });
  const id = await make(gil.accountId, { ended: 'completed', poster: POSTER, surface: 'web' });
  const insert = `insert into task_history (task_id, at, phase, cause)
    select task_id, at, phase, '{"connection": "ark", "next": "fal"}' from task_history
    where task_id = $1 and phase = 'submitting'`;
  await sql(db, insert, [id]);
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

test('a refused file is named with its reason, and the task shows its refund', async () => {
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
    db,
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
    await sql(db, update, [id, cause === null ? null : JSON.stringify(cause)]);
    assert.match((await ada.get(`${TASKS}/${id}`)).body.failure.advice, advice);
  }
});

test('a held task says what that means, and nothing of its provider', async () => {
  const id = await make(ada.accountId);
  await sql(
    db,
    `update tasks set phase = 'held', held_cause = 'acceptance', provider = 'secret-provider',
       provider_output = '{"url": "https://secret-provider.test"}' where id = $1`,
    [id],
  );
  const insert = `insert into task_history (task_id, phase, cause)
    values ($1, 'held', '{"cause": "secret-provider said no"}')`;
  await sql(db, insert, [id]);
  const { body } = await ada.get(`${TASKS}/${id}`);
  assert.equal(body.status, 'processing');
  assert.match(body.held, /credits stay reserved/);
  assert.equal(body.timeline.at(-1).label, 'Being checked');
  assert.doesNotMatch(JSON.stringify(body), /secret-provider/);
});

test('names, stars and tags are an account’s own, found by search, and erased with its tasks', async () => {
  const kim = await website.signIn({ credits: 10_000 });
  const made = [
    await make(kim.accountId, { prompt: 'Plain', ended: 'content_refused' }),
    await make(kim.accountId, { prompt: 'A boat', ended: 'completed' }),
  ];
  const [plain = '', boat = ''] = made;
  await sql(db, 'update tasks set seed = 4711 where id = $1', [boat]);
  const write = (body: object) => kim.write(TASKS, { ids: made, ...body }, 'PATCH');
  const finds = async (query: string, ...ids: string[]) =>
    assert.deepEqual(idsOf(await listed(kim, query)), ids, query);
  await write({ ids: [boat], name: 'Opening shot', starred: true, add_tags: ['sea', ' Reel 1 '] });
  await write({ add_tags: ['sea', '1/2'], remove_tags: ['Reel 1'] });
  const [shown] = await listed(kim, '?text=opening');
  const annotated = [shown?.id, shown?.name, shown?.is_starred, shown?.tags];
  assert.deepEqual(annotated, [boat, 'Opening shot', true, ['1/2', 'sea']]);
  assert.equal((await kim.get(`${TASKS}/${boat}`)).body.name, 'Opening shot');
  await finds('?starred=yes', boat);
  await finds('?tag=sea', boat, plain);
  await finds('?tag=sea&state=failed', plain);
  await finds('?tag=SEA');
  await finds('?text=4711', boat);
  await finds('?text=1/2', boat, plain);
  const tags = (await kim.get('/console/api/task-filters')).body.tags;
  assert.deepEqual(tags, ['1/2', 'sea']);
  const refused: [body: object, field: string][] = [
    [{ name: 'x'.repeat(121) }, 'name'],
    [{ name: ' ' }, 'name'],
    [{ add_tags: ['x'.repeat(41)] }, 'add_tags'],
    [{ add_tags: Array.from({ length: 20 }, (_, i) => `${i}`) }, 'add_tags'],
    [{ ids: [] }, 'ids'],
    [{ ids: Array.from({ length: 51 }, (_, i) => `task_${i}`) }, 'ids'],
  ];
  for (const [body, field] of refused) {
    const response = await write(body);
    assertError(response, 'invalid_request');
    assert.equal(response.body.error.details.field, field);
  }
  assertError(await ada.write(TASKS, { ids: made, name: 'Mine' }, 'PATCH'), 'not_found');
  await write({ ids: [boat], name: null, starred: false });
  await finds('?starred=yes');
  await finds('?tag=sea', boat, plain);
  await db.transaction((tx) => eraseOf(tx, kim.accountId));
  assert.deepEqual(
    await sql(db, 'select from task_annotations where account_id = $1', [kim.accountId]),
    [],
  );
});

test('a deleted video says so, who deleted it and when, and has no link', async () => {
  const ids = await Promise.all(
    [0, 1, 2, 3].map(() => make(ada.accountId, { ended: 'completed', poster: POSTER })),
  );
  const [own = '', operators = '', kept = '', older = ''] = ids;
  await ada.delete(`${TASKS}/${own}/output`);
  await takeDown(db, ACTION, operators);
  const ended = `update stored_objects set state = 'deleted', delete_after = '2026-01-02T03:04:05Z'`;
  await sql(db, `${ended} where owner_id = $1`, [kept]);
  await sql(db, `${ended}, taken_down_at = '2026-01-01T00:00:00Z' where owner_id = $1`, [older]);
  const items = (await listed(ada)).filter(({ id }) => ids.includes(id));
  const who = new Map(items.map(({ id, deleted }) => [id, deleted]));
  const deleters = ids.map((id) => who.get(id)?.by);
  assert.deepEqual(deleters, ['owner', 'operator', 'retention', 'unknown']);
  assert.equal(who.get(kept)?.at, '2026-01-02T03:04:05.000Z');
  assert.equal(who.get(older)?.at, '2026-01-01T00:00:00.000Z');
  assert.ok(Date.parse(who.get(own)?.at ?? '') <= Date.now());
  const links = items.flatMap(({ video_url, poster_url }) => [video_url, poster_url]);
  assert.deepEqual(links, Array(8).fill(null));
  const { body } = await ada.get(`${TASKS}/${kept}`);
  assert.deepEqual(
    [body.status, body.charge, body.video.state],
    ['completed', 'charged', 'deleted'],
  );
  assert.deepEqual([body.video_url, body.poster_url], [null, null]);
  assertError(await ada.get(`${TASKS}/${kept}/poster`), 'not_found');
});

/** The files of a ZIP archive, read by its directory, each checked against its checksum. */
function unzip(bytes: Buffer): [name: string, content: string][] {
  const end = bytes.length - 22;
  const files: [string, string][] = [];
  for (let at = bytes.readUInt32LE(end + 16); at < end; ) {
    const [crc, size] = [bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 24)];
    const [length, offset] = [bytes.readUInt16LE(at + 28), bytes.readUInt32LE(at + 42)];
    const data = bytes.subarray(offset + 30 + length, offset + 30 + length + size);
    assert.equal(crc32(data), crc);
    files.push([bytes.toString('utf8', at + 46, at + 46 + length), data.toString()]);
    at += 46 + length;
  }
  assert.equal(files.length, bytes.readUInt16LE(end + 10));
  return files;
}

test('videos are downloaded one by one and together, named by prompt and date', async () => {
  const lee = await website.signIn({ credits: 10_000 });
  const one = async (prompt: string, video: string) => {
    const id = await make(lee.accountId, { prompt, ended: 'completed', video: Buffer.from(video) });
    await sql(db, `update tasks set seed = 7, created_at = '2026-11-02' where id = $1`, [id]);
    return id;
  };
  const boat = await one('../A "boat"\r\n%00; at dawn', 'one');
  const twin = await one('A boat, at DAWN!', 'two');
  const prompt = 'कुत्ता 船 '.repeat(40);
  const foreign = await one(prompt, 'three');
  await lee.write(TASKS, { ids: [foreign], name: '船 Ä' }, 'PATCH');
  const others = await make(ada.accountId, { ended: 'completed' });
  const alone = await inject(lee, `${TASKS}/${foreign}/file`);
  assert.deepEqual(
    [alone.payload, alone.headers['content-disposition'], alone.headers['content-length']],
    [
      'three',
      `attachment; filename="_-_-2026-11-02-7.mp4"; filename*=UTF-8''%E8%88%B9-%C3%A4-2026-11-02-7.mp4`,
      '5',
    ],
  );
  const ids = [twin, foreign, boat, boat, others, 'task_none'];
  const url = `/console/api/videos.zip?ids=${ids}`;
  const { rawPayload, headers } = await inject(lee, url);
  assert.equal(headers['content-length'], String(rawPayload.length));
  const opening = mock.method(website.deps.storage, 'open');
  const head = await website.app.inject({ method: 'HEAD', url, headers: { cookie: lee.cookie } });
  await new Promise(setImmediate);
  assert.equal(head.headers['content-length'], headers['content-length']);
  assert.equal(opening.mock.callCount(), 0, 'a HEAD reads no video');
  opening.mock.restore();
  assert.match(
    String(headers['content-disposition']),
    /^attachment; filename="videos-[\d-]+\.zip"$/,
  );
  assert.deepEqual(unzip(rawPayload), [
    ['a-boat-at-dawn-2026-11-02-7.mp4', 'two'],
    ['船-ä-2026-11-02-7.mp4', 'three'],
    ['a-boat-00-at-dawn-2026-11-02-7.mp4', 'one'],
  ]);
  await lee.write(TASKS, { ids: [boat], name: 'A BOAT at dawn' }, 'PATCH');
  const again = await inject(lee, `/console/api/videos.zip?ids=${twin},${boat}`);
  assert.deepEqual(unzip(again.rawPayload)[1], ['a-boat-at-dawn-2026-11-02-7 (2).mp4', 'one']);
  const zipOf = (names: string) => lee.get(`/console/api/videos.zip?ids=${names}`);
  assertError(await zipOf(others), 'not_found');
  assertError(
    await zipOf(Array.from({ length: 51 }, (_, i) => `task_${i}`).join()),
    'invalid_request',
  );
  const { storage } = website.deps;
  const open = storage.open.bind(storage);
  const removing = mock.method(storage, 'open', async (id: string) => {
    await takeDown(db, ACTION, foreign, { basis: 'order', evidence_days: 1 });
    return open(id);
  });
  const breaks = { code: 'LIGHT_ECONNRESET' };
  await assert.rejects(inject(lee, `/console/api/videos.zip?ids=${boat},${foreign}`), breaks);
  assert.equal(removing.mock.callCount(), 1, 'evidence is not opened');
  removing.mock.restore();
  await sql(db, 'update stored_objects set size_bytes = 4e9 where owner_id = $1', [boat]);
  assertError(await zipOf(`${boat},${twin}`), 'file_missing');
  await sql(db, 'update stored_objects set size_bytes = 4e9 where owner_id = $1', [twin]);
  assertError(await zipOf(`${boat},${twin}`), 'invalid_request');
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
