import assert from 'node:assert/strict';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { PUBLIC_URL } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { imageBytes, videoBytes } from '../../../test/media/media-fixture.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { assertPicture, beginUpload, uploadRows } from '../../../test/website/uploads.ts';
import { openTestWebsite } from '../../../test/website/website.ts';
import { createKey } from '../../accounts/api-keys.ts';
import { QUOTA_BYTES } from '../../uploads/quota.ts';

const PATH = '/api/v1/uploads';
const DAY = 86_400;

const website = await openTestWebsite();
const { db, setClock } = website.database;
const picture = await imageBytes('png', 96, 54);

/** A visitor of the website who also has an API key. */
async function owner(credits = 1000) {
  const visitor = await website.signIn({ credits });
  const { secret } = await createKey(db, { accountId: visitor.accountId });
  const authorization = `Bearer ${secret}`;
  const post = (url: string, payload: Buffer | object, headers: Record<string, string> = {}) =>
    visitor.send({ method: 'POST', url, payload, headers: { authorization, ...headers } });
  return {
    visitor,
    authorization,
    upload: (bytes: Buffer, headers = {}) =>
      post(PATH, bytes, { 'content-type': 'image/png', ...headers }),
    create: (body: object, key = crypto.randomUUID()) =>
      post('/api/v1/video/generations', body, { 'idempotency-key': key }),
    quote: (body: object) => post('/api/v1/video/quotes', body),
    remove: (id: string) =>
      visitor.send({ method: 'DELETE', url: `${PATH}/${id}`, headers: { authorization } }),
  };
}

/** A request with an upload as its first frame. */
function withFrame(image_url: string) {
  return { mode: 'image-to-video', prompt: 'it begins to move', image_url };
}

test('an upload has a URL that creates of both surfaces accept, and that nobody can fetch', async () => {
  const { visitor, upload, create, quote } = await owner();
  const { status, body } = await upload(picture, { 'content-type': 'image/webp' });
  assert.equal(status, 201, JSON.stringify(body));
  const { id, url, expires_at, ...facts } = body;
  assert.equal(url, `${PUBLIC_URL}/uploads/${id}`);
  assertPicture(facts, picture);
  const days = (Date.parse(expires_at) - Date.now()) / DAY / 1000;
  assert.ok(days > 0.9 && days < 1.1, expires_at);
  const key = crypto.randomUUID();
  const created = await create(withFrame(url), key);
  assert.equal(created.status, 202, JSON.stringify(created.body));
  const replayed = await create(withFrame(url), key);
  assert.deepEqual([replayed.status, replayed.body.id], [200, created.body.id]);
  assert.equal((await quote(withFrame(url))).body.credits, 250);
  const ofWebsite = await visitor.create(withFrame(url));
  assert.equal(ofWebsite.status, 202);
  assert.equal(ofWebsite.body.request.image_url, `upload:${id}`);
  const read = await website.app.inject({ url: `/uploads/${id}` });
  assert.equal(read.statusCode, 404);
});

test('an upload of the website is used by the API, and a video has its seconds', async () => {
  const { visitor, upload, create } = await owner();
  const ofWebsite = (await visitor.upload(picture)).body;
  assert.equal((await create(withFrame(`${PUBLIC_URL}/uploads/${ofWebsite.id}`))).status, 202);
  const bytes = await videoBytes({ width: 854, height: 480, seconds: 3 });
  const video = (await upload(bytes, { 'content-type': 'video/mp4' })).body;
  assert.equal(Math.round(video.duration_seconds), 3);
  const created = await create({
    mode: 'media-to-video',
    prompt: 'as in the video',
    reference_video_urls: [video.url],
    reference_image_urls: [`${PUBLIC_URL}/uploads/${ofWebsite.id}`],
    reference_video_durations: [3],
  });
  assert.equal(created.status, 202, JSON.stringify(created.body));
});

test('another account’s upload, an unknown and an expired one are unknown, not fetched', async () => {
  const first = await owner();
  const other = await owner();
  const { url } = (await first.upload(picture)).body;
  const refused = async (by: typeof first, address: string) => {
    for (const response of [
      await by.create(withFrame(address)),
      await by.quote(withFrame(address)),
    ]) {
      const details = { field: 'image_url', reason: 'unknown_upload' };
      assertError(response, 'invalid_request', details);
    }
  };
  await refused(other, url);
  const unknown = ['obj_none', '', '%00', '../media/obj_1'].map((id) => `/uploads/${id}`);
  for (const path of unknown.slice(0, 3)) await refused(first, PUBLIC_URL + path);
  for (const more of ['?', '?a=b', '#', '#c']) await refused(first, url + more);
  const named = await first.create(withFrame(url.replace('//', '//ada:secret@')));
  assertError(named, 'invalid_request', { field: 'image_url' });
  assert.equal((await first.quote(withFrame(url.replace('localhost', 'LOCALHOST')))).status, 200);
  const elsewhere = await first.create(withFrame(`${PUBLIC_URL}${unknown[3]}`));
  assert.equal(elsewhere.body.error.details.reason, 'not_https', 'it is no upload');
  await setClock(2 * DAY);
  await refused(first, url).finally(() => setClock(0));
  const { body } = await first.visitor.get('/console/api/me');
  assert.equal(body.credits.reserved, 0);
});

test('a use makes an upload of the API last a day, and one of the website seven', async () => {
  const { visitor, upload, create } = await owner();
  const urls = [(await upload(picture)).body.url, (await visitor.upload(picture)).body.url];
  await setClock(0.9 * DAY);
  for (const url of urls) {
    assert.equal(
      (await create(withFrame(url.replace('upload:', `${PUBLIC_URL}/uploads/`)))).status,
      202,
    );
  }
  const select = `select round(extract(epoch from delete_after - clock_now()) / ${DAY})::int as days
    from stored_objects where owner_id = $1 and role = 'upload' order by created_at`;
  const days = await sql<{ days: number }>(db, select, [visitor.accountId]);
  await setClock(0);
  const numbers = days.map((row) => row.days);
  assert.deepEqual(numbers, [1, 7]);
});

test('an unusable file is refused, and nothing of it is kept', async () => {
  const { visitor, upload } = await owner();
  const cases: [Buffer, Record<string, string>, string][] = [
    [Buffer.from('<!doctype html>'), {}, 'not_an_image'],
    [Buffer.from('<!doctype html>'), { 'content-type': 'video/mp4' }, 'not_a_video'],
    [picture, { 'content-type': 'application/octet-stream' }, 'not_media'],
    [picture, { 'content-type': '' }, 'not_media'],
    [picture.subarray(0, picture.length / 2), {}, 'undecodable'],
    [Buffer.alloc(0), {}, 'length_required'],
  ];
  for (const [bytes, headers, reason] of cases) {
    assertError(await upload(bytes, headers), 'invalid_request', { field: 'file', reason });
  }
  const large = await upload(picture, { 'content-length': String(101 * 2 ** 20) });
  assertError(large, 'payload_too_large');
  assert.match(large.body.error.message, /100 MB/);
  assert.deepEqual(await uploadRows(website, visitor), []);
});

test('a 429 of uploads names their own limit', async () => {
  const { visitor, upload } = await owner();
  const full = `insert into request_windows (subject, hits)
    values ($1, array(select clock_now() from generate_series(1, 60)))`;
  await sql(db, full, [`uploads:${visitor.accountId}`]);
  const response = await upload(picture);
  assertError(response, 'rate_limited');
  const { headers } = response;
  assert.equal(headers['ratelimit-policy'], '"uploads";q=60;w=600');
  assert.equal(headers.ratelimit, `"uploads";r=0;t=${headers['retry-after']}`);
});

test('a delete of an upload can be repeated, and frees its room in the quota of both surfaces', async () => {
  const first = await owner(0);
  const other = await owner(0);
  const { id, url } = (await first.upload(picture)).body;
  const grow = 'update stored_objects set size_bytes = $2::bigint where id = $1';
  await sql(db, grow, [id, QUOTA_BYTES.unpaid]);
  for (const refused of [await first.upload(picture), await first.visitor.upload(picture)]) {
    assertError(refused, 'invalid_request', { reason: 'quota_exceeded' });
  }
  for (const unknown of [id, 'obj_none', '%00', '..%2f']) {
    assertError(await other.remove(unknown), 'not_found');
  }
  assertError(await first.remove('x'.repeat(121)), 'invalid_request', { field: 'id' });
  for (const { status, body } of [await first.remove(id), await first.remove(id)]) {
    assert.deepEqual([status, body], [204, null]);
  }
  assertError(await first.create(withFrame(url)), 'invalid_request', { reason: 'unknown_upload' });
  assert.equal((await first.upload(picture)).status, 201);
});

test('an upload is kept until the tasks that name it have copied it', async () => {
  const { upload, create, remove } = await owner(10_000);
  const { id, url } = (await upload(picture)).body;
  for (const request of [
    withFrame(url),
    { ...withFrame('https://media.example/a.png'), end_image_url: url },
    { mode: 'media-to-video', prompt: 'as in the picture', reference_image_urls: [url] },
  ]) {
    const { body } = await create(request);
    for (const phase of ['reserved', 'ingesting']) {
      await sql(db, 'update tasks set phase = $2 where id = $1', [body.id, phase]);
      assertError(await remove(id), 'upload_in_use', { task_id: body.id });
    }
    await sql(db, `update tasks set phase = 'submitting' where id = $1`, [body.id]);
  }
  const prompt = `it is no use of "upload:${id}"`;
  assert.equal((await create({ prompt })).status, 202);
  assert.equal((await remove(id)).status, 204);
});

test('the API key and its rate window are checked before the body is read', async () => {
  const begin = (authorization: string) => beginUpload(website.url + PATH, { authorization });
  const stranger = begin('Bearer fw_live_wrong');
  const [response] = await once(stranger, 'response');
  assert.equal(response.statusCode, 401);
  assertError(
    { status: 401, headers: response.headers, body: JSON.parse(await text(response)) },
    'unauthorized',
  );
  stranger.destroy();
  const { authorization, upload } = await owner();
  await Promise.all(Array.from({ length: 30 }, () => upload(Buffer.alloc(0))));
  const late = begin(authorization);
  const [limited] = await once(late, 'response');
  assert.equal(limited.statusCode, 429);
  late.destroy();
});
