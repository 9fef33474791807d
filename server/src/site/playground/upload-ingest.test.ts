import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { imageBytes } from '../../../test/media/media-fixture.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { ingestTask } from '../../../test/website/uploads.ts';
import { openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { INPUT_BYTES } from '../../catalog/limits.ts';
import { grant } from '../../ledger/ledger.ts';
import { audit } from '../../operator/audit.ts';
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts';

const [PROMOTIONAL, PAID] = [100, 150];

after(async () => assert.deepEqual(await audit(db), { ok: true, problems: [] }));
const website = await openTestWebsite();
const { db, setClock } = website.database;
const picture = await imageBytes('png', 96, 54);

/** Fetches from a host whose file counts as this many bytes. */
function hostWith(sizeBytes: number): GuardedFetch {
  return {
    async download(_url, { budget }) {
      const body = async function* () {
        budget?.take(sizeBytes);
        yield picture;
      };
      return body();
    },
    close: async () => {},
  };
}

/** A task with an upload as its first frame, paid with both kinds of credits. */
async function taskWithUpload(more: object = {}) {
  const visitor = await website.signIn({ credits: PAID });
  const { accountId } = visitor;
  await grant(db, { accountId, kind: 'promotional', reference: accountId, credits: PROMOTIONAL });
  const upload = await visitor.upload(picture);
  const request = {
    mode: 'image-to-video',
    prompt: 'it begins to move',
    image_url: upload.body.url,
    ...more,
  };
  const created = await visitor.create(request);
  assert.equal(created.status, 202, JSON.stringify(created.body));
  assert.deepEqual(await creditsOf(visitor), { promotional: 0, paid: 0, reserved: 250 });
  return { visitor, taskId: String(created.body.id), uploadId: String(upload.body.id) };
}

async function creditsOf(visitor: TestVisitor) {
  const { body } = await visitor.get('/console/api/me');
  const { promotional, paid, reserved } = body.credits;
  return { promotional, paid, reserved };
}

const ingested = (taskId: string, guardedFetch = hostWith(picture.length)) =>
  ingestTask(website.deps, taskId, guardedFetch);

/** The task fails because of this file, and both kinds of credits come back. */
async function assertRefused(
  { visitor, taskId }: { visitor: TestVisitor; taskId: string },
  details: { field: string; reason: string; limit_bytes?: number },
): Promise<void> {
  const { body } = await visitor.get(`/console/api/tasks/${taskId}`);
  const { inputs, ...first } = body.failure.details;
  const shown = [body.status, body.charge, body.failure.code, first];
  assert.deepEqual(shown, ['failed', 'refunded', 'invalid_media', details]);
  assert.partialDeepStrictEqual(inputs, [details]);
  const credits = { promotional: PROMOTIONAL, paid: PAID, reserved: 0 };
  assert.deepEqual(await creditsOf(visitor), credits);
  const left = `select id from stored_objects where owner_id = $1 and state in ('writing', 'ready')`;
  assert.deepEqual(await sql(db, left, [taskId]), []);
}

test('an upload becomes an input of the task by a copy of its bytes', async () => {
  const { visitor, taskId, uploadId } = await taskWithUpload();
  const task = await ingested(taskId);
  assert.equal(task.phase, 'submitting');
  const rows = await sql<{ id: string; role: string; state: string; size_bytes: number }>(
    db,
    'select id, role, state, size_bytes from stored_objects where owner_id = $1',
    [taskId],
  );
  const [row] = rows;
  assert.equal(rows.length, 1);
  assert.notEqual(row?.id, uploadId);
  const { role, state, size_bytes } = row ?? {};
  assert.deepEqual([role, state, Number(size_bytes)], ['input', 'ready', picture.length]);
  const { storage } = website.deps;
  assert.ok((await buffer(await storage.open(row?.id ?? ''))).equals(picture));
  const { body } = await visitor.get(`/console/api/uploads/${uploadId}`);
  assert.equal(body.id, uploadId, 'it can be used again');
  assert.deepEqual(await creditsOf(visitor), { promotional: 0, paid: 0, reserved: 250 });
});

/** What can happen to an upload between the create and the ingest. */
const LOST: [string, (uploadId: string) => Promise<unknown>][] = [
  ['has expired', () => setClock(8 * 86_400)],
  [
    'is another account’s',
    async (uploadId) => {
      const { accountId } = await website.signIn();
      const text = 'update uploads set account_id = $2 where object_id = $1';
      await sql(db, text, [uploadId, accountId]);
    },
  ],
  [
    'is being deleted',
    (uploadId) => {
      const text = `update stored_objects set state = 'deleting' where id = $1`;
      return sql(db, text, [uploadId]);
    },
  ],
  ['has lost its bytes', (uploadId) => website.deps.storage.delete(uploadId)],
];
for (const [title, lose] of LOST) {
  test(`the task fails and is refunded when its upload ${title}`, async () => {
    const created = await taskWithUpload();
    await lose(created.uploadId);
    try {
      await ingested(created.taskId);
    } finally {
      await setClock(0);
    }
    await assertRefused(created, { field: 'image_url', reason: 'unknown_upload' });
  });
}

const TOO_LARGE = { reason: 'too_large', limit_bytes: INPUT_BYTES };

test('an upload counts in the same 256 MB as what is downloaded', async () => {
  const more = { end_image_url: 'https://media.example/last.png' };
  const fits = await taskWithUpload(more);
  const rest = INPUT_BYTES - picture.length;
  assert.equal((await ingested(fits.taskId, hostWith(rest))).phase, 'submitting');
  const exceeds = await taskWithUpload(more);
  const { error_details } = await ingested(exceeds.taskId, hostWith(rest + 1));
  const field = String(error_details?.field); // of the file that came last
  assert.ok(['image_url', 'end_image_url'].includes(field));
  await assertRefused(exceeds, { field, ...TOO_LARGE });
});

test('an upload that is larger than the rest of the 256 MB is not opened', async () => {
  const created = await taskWithUpload();
  const larger = 'update stored_objects set size_bytes = $2 where id = $1';
  await sql(db, larger, [created.uploadId, INPUT_BYTES + 1]);
  await website.deps.storage.delete(created.uploadId);
  await ingested(created.taskId);
  await assertRefused(created, { field: 'image_url', ...TOO_LARGE });
});
