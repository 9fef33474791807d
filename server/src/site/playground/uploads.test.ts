import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { imageBytes } from '../../../test/media/media-fixture.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { openTestFolder } from '../../../test/temporary-folder.ts';
import { until } from '../../../test/until.ts';
import { assertPicture, beginUpload, uploadRows } from '../../../test/website/uploads.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { disableAccount } from '../../accounts/accounts.ts';
import { createKey } from '../../accounts/api-keys.ts';
import { openScratchDirectory } from '../../kernel/scratch-directory.ts';
import { grant } from '../../ledger/ledger.ts';
import { eraseAccount } from '../../operator/erase.ts';
import { deleteMarked, markExpired } from '../../storage/objects.ts';
import { QUOTA_BYTES } from '../../uploads/quota.ts';
import { forgetUploads } from '../../uploads/uploads.ts';

const URL = '/console/api/uploads';

const slowUploads: ClientRequest[] = [];
/** How many uploads have a slot and are being received. */
let receiving = 0;

const folder = await openTestFolder();
const scratch = openScratchDirectory(folder.path);
const website = await openTestWebsite({
  scratch: {
    ...scratch,
    withFolder(work) {
      receiving += 1;
      return scratch.withFolder(work).finally(() => {
        receiving -= 1;
      });
    },
  },
});
const picture = await imageBytes('png', 96, 54);
afterEach(() => {
  endSlowUploads();
  return untilReceiving(0);
});

/** A create with an upload as its first frame. */
function createWith(visitor: TestVisitor, image_url: string, more: object = {}) {
  const body = { mode: 'image-to-video', prompt: 'it begins to move', image_url, ...more };
  return visitor.create(body);
}

test('a picture is stored, shown again and used by a create', async () => {
  const visitor = await website.signIn({ credits: 1000 });
  // The name and the header do not matter, only the bytes.
  const { status, body } = await visitor.upload(picture, { 'content-type': 'image/webp' });
  assert.equal(status, 201);
  const { id, url, expires_at, ...facts } = body;
  assert.equal(url, `upload:${id}`);
  assertPicture(facts, picture);
  const days = (Date.parse(expires_at) - Date.now()) / 86_400_000;
  assert.ok(days > 6.9 && days < 7.1);
  assert.deepEqual((await visitor.get(`${URL}/${id}`)).body, body);
  assert.deepEqual((await visitor.get(URL)).body, { items: [body], next: null });
  const file = await website.app.inject({
    url: `${URL}/${id}/file`,
    headers: { cookie: visitor.cookie },
  });
  assert.ok(file.rawPayload.equals(picture));
  assert.equal(file.headers['content-type'], 'image/png');
  // Another account in this browser does not get it from the browser's cache.
  assert.equal(file.headers.vary, 'cookie');
  const created = await createWith(visitor, url);
  assert.equal(created.status, 202);
  assert.equal(created.body.request.image_url, url);
});

test('a failing storage is a 503, not a fault of the client', async () => {
  const visitor = await website.signIn();
  const { id } = (await visitor.upload(picture)).body;
  const { storage } = website.deps;
  const broken = async () => {
    throw new Error('the bucket does not respond');
  };
  const working = { open: storage.open, put: storage.put };
  Object.assign(storage, { open: broken, put: broken });
  try {
    assertError(await visitor.get(`${URL}/${id}/file`), 'service_busy');
    assertError(await visitor.upload(picture), 'service_busy');
  } finally {
    Object.assign(storage, working);
  }
  assert.equal((await visitor.upload(picture)).status, 201);
});

/** Makes a visitor's uploads so large that the quota has room for so many bytes. */
async function fillQuota({ accountId }: TestVisitor, kind: 'paid' | 'unpaid', room: number) {
  const text = `update stored_objects set size_bytes = $2::bigint /
    (select count(*) from stored_objects where owner_id = $1) where owner_id = $1`;
  await sql(website.database.db, text, [accountId, QUOTA_BYTES[kind] - room]);
}

/** Gives visitors addresses that lead to one mailbox. */
async function shareMailbox(...visitors: TestVisitor[]): Promise<void> {
  await sql(
    website.database.db,
    `update accounts set email = overlay($2::text placing '.' from array_position($1, id) for 0)
       || '+' || id || '@gmail.com' where id = any($1)`,
    [visitors.map(({ accountId }) => accountId), crypto.randomUUID().slice(0, 18)],
  );
}

test('an account may store less until it has paid, also by uploads at the same time', async () => {
  const visitor = await website.signIn();
  assert.equal((await visitor.upload(picture)).status, 201);
  await fillQuota(visitor, 'unpaid', picture.length - 1);
  const refused = await visitor.upload(picture);
  const details = { reason: 'quota_exceeded', limit_bytes: QUOTA_BYTES.unpaid };
  assertError(refused, 'invalid_request', details);
  assert.match(refused.body.error.message, /100 MB until you buy credits, then 1024 MB/);
  const { accountId } = visitor;
  const promotional = { accountId, kind: 'promotional', credits: 30, reference: 'gift' } as const;
  await grant(website.database.db, promotional);
  assertError(await visitor.upload(picture), 'invalid_request');
  await grant(website.database.db, { ...promotional, kind: 'paid', reference: 'bought' });
  await fillQuota(visitor, 'paid', 2 * picture.length);
  const sent = await Promise.all([1, 2, 3].map(() => visitor.upload(picture)));
  assert.deepEqual(sent.map(({ status }) => status).sort(), [201, 201, 400]);
  const more = { reason: 'quota_exceeded', limit_bytes: 2 ** 30 };
  assertError(await visitor.upload(picture), 'invalid_request', more);
});

test('the accounts of one mailbox share its quota, also for uploads at the same time', async () => {
  const owners = await Promise.all([1, 2, 3].map(() => website.signIn()));
  const [first, second, third] = owners;
  assert.ok(first && second && third);
  await shareMailbox(...owners);
  assert.equal((await first.upload(picture)).status, 201);
  const other = await website.signIn();
  await fillQuota(first, 'unpaid', picture.length);
  const sent = await Promise.all([second.upload(picture), third.upload(picture)]);
  assert.deepEqual(sent.map(({ status }) => status).sort(), [201, 400]);
  assertError(await first.upload(picture), 'invalid_request');
  assert.equal((await other.upload(picture)).status, 201);
});

test('accounts of one mailbox share its slots for uploads, also those of the API', async () => {
  const owners = await Promise.all([1, 2, 3].map(() => website.signIn()));
  await shareMailbox(...owners);
  for (const owner of owners) slowUpload(owner);
  await untilReceiving(owners.length);
  for (const owner of owners) {
    await until(
      () => owner.upload(picture),
      ({ status }) => status === 503,
      5,
    );
  }
  const { accountId, ...first } = owners[0] as TestVisitor;
  const { secret } = await createKey(website.database.db, { accountId });
  const authorization = `Bearer ${secret}`;
  const headers = { authorization, 'content-type': 'image/png' };
  const byKey = { method: 'POST', url: '/api/v1/uploads', payload: picture, headers } as const;
  assertError(await first.send(byKey), 'service_busy');
  endSlowUploads();
  await until(
    () => first.send(byKey),
    ({ status }) => status === 201,
  );
  assert.equal((await uploadRows(website, { accountId })).length, 1, 'what broke off left nothing');
});

test('three accounts leave slots for others', async () => {
  const owners = await Promise.all([1, 2, 3].map(() => website.signIn()));
  for (const owner of owners) slowUpload(owner);
  await untilReceiving(3);
  for (const owner of owners) for (let i = 0; i < 2; i += 1) slowUpload(owner);
  await untilReceiving(4); // while four are taken, nobody gets a second one
  for (const owner of owners) assertError(await owner.upload(picture), 'service_busy');
  assert.equal((await (await website.signIn()).upload(picture)).status, 201);
});

test('an upload that is too slow is ended, and frees its slot', async () => {
  const impatient = await openTestWebsite({ minUploadRate: { bytes: 1000, seconds: 0.1 } });
  const visitor = await impatient.signIn();
  const ended = [1, 2, 3].map(async () => {
    const [response] = await once(slowUpload(visitor, impatient), 'response');
    assert.equal(response.statusCode, 400);
    assert.equal(response.headers.connection, 'close');
    assert.equal(JSON.parse(await text(response)).error.details.reason, 'too_slow');
  });
  await Promise.all(ended);
  assert.equal((await visitor.upload(picture)).status, 201);
});

test('an upload that fails before it is read leaves no paused body behind', async () => {
  const fail = async () => {
    throw new Error('the disk is full');
  };
  const scratch = { withFolder: fail, withFiles: fail, maintain: async () => {} };
  const full = await openTestWebsite({ scratch });
  const { cookie } = await full.signIn();
  const arrived = once(full.app.server, 'request');
  const headers = { cookie, origin: ORIGIN, 'content-type': 'image/png' };
  // More than the streams buffer, and so little that the connection is used again.
  const body = new Uint8Array(500_000);
  const response = await fetch(`${full.url}${URL}`, { method: 'POST', headers, body });
  assert.equal(response.status, 503);
  const [request] = await arrived;
  await until(async () => request.readableEnded);
});

/** Waits until so many uploads have a slot. */
async function untilReceiving(count: number): Promise<void> {
  await until(async () => receiving === count);
}

function endSlowUploads(): void {
  for (const sent of slowUploads.splice(0)) sent.destroy();
}

/** An upload that never ends. */
function slowUpload({ cookie }: TestVisitor, { url } = website) {
  const sent = beginUpload(`${url}${URL}`, { cookie, origin: ORIGIN });
  slowUploads.push(sent);
  return sent;
}

test('an expired upload can’t be read or used, and its bytes and then its row go', async () => {
  const owner = await website.signIn({ credits: 1000 });
  const { body } = await owner.upload(picture);
  const asVideo = await createWith(owner, body.url, {
    mode: 'media-to-video',
    image_url: undefined,
    reference_video_urls: [body.url],
    reference_video_durations: [3],
  });
  assert.equal(asVideo.body.error.details.reason, 'not_a_video');
  const { db, setClock } = website.database;
  await setClock(8 * 86_400);
  assertError(await owner.get(`${URL}/${body.id}`), 'not_found');
  assertError(await owner.get(`${URL}/${body.id}/file`), 'not_found');
  const unknown = { field: 'image_url', reason: 'unknown_upload' };
  assertError(await createWith(owner, body.url), 'invalid_request', unknown);
  await markExpired(db);
  await deleteMarked({ db, storage: website.deps.storage });
  await setClock(0);
  assert.equal(await website.deps.storage.sizeOf(body.id), undefined);
  await forgetUploads(db);
  assert.deepEqual(await uploadRows(website, owner), [{ id: body.id, state: 'deleted' }]);
  await setClock(39 * 86_400);
  await forgetUploads(db);
  await setClock(0);
  assert.deepEqual(await uploadRows(website, owner), []);
  assert.deepEqual(await sql(db, 'select from uploads where object_id = $1', [body.id]), []);
});

test('a create and a delete of its upload at once: one of them is refused, without a deadlock', async () => {
  const owner = await website.signIn({ credits: 10_000 });
  for (let i = 0; i < 4; i++) {
    const { body } = await owner.upload(picture);
    const [created, again, deleted] = await Promise.all([
      createWith(owner, body.url),
      createWith(owner, body.url),
      owner.delete(`${URL}/${body.id}`),
    ]);
    if (deleted.status !== 200) assertError(deleted, 'upload_in_use');
    const wanted = deleted.status === 200 ? 400 : 202;
    for (const one of [created, again, await createWith(owner, body.url)]) {
      assert.equal(one.status, wanted, JSON.stringify([deleted.body, one.body]));
    }
  }
});

test('a refused create does not prolong the life of its upload', async () => {
  const visitor = await website.signIn({ credits: 0 });
  const { body } = await visitor.upload(picture);
  const { setClock } = website.database;
  await setClock(6 * 86_400);
  assertError(await createWith(visitor, body.url), 'insufficient_credits');
  const later = await visitor.get(`${URL}/${body.id}`);
  await setClock(0);
  assert.equal(later.body.expires_at, body.expires_at);
});

test('an upload is erased with its account', async () => {
  const visitor = await website.signIn();
  const { body } = await visitor.upload(picture);
  const { db } = website.database;
  await disableAccount(db, visitor.accountId);
  assertError(await visitor.upload(picture), 'unauthorized');
  await website.database.setClock(61);
  const action = { command: 'accounts erase', actor: 'ada', reason: 'a test' };
  await eraseAccount(db, action, visitor.accountId);
  await website.database.setClock(0);
  assert.deepEqual(await uploadRows(website, visitor), [{ id: body.id, state: 'deleting' }]);
  const facts = await sql(db, 'select from uploads where account_id = $1', [visitor.accountId]);
  assert.equal(facts.length, 0);
});
