import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { createAccount } from '../../../server/src/accounts/accounts.ts';
import { createKey } from '../../../server/src/accounts/api-keys.ts';
import { createTestDatabase } from '../../../server/test/database.ts';
import {
  imageBytes,
  type MediaFixture,
  openMediaFixture,
} from '../../../server/test/media/media-fixture.ts';
import { startServiceProcess } from '../../../server/test/service/service-process.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import { ApiError, Framewright, TaskFailedError } from '../src/index.ts';

let fixture: MediaFixture;
let client: Framewright;

before(async () => {
  fixture = await openMediaFixture({ environment: { RECONCILE_SECONDS: '3600' } });
  const accountId = await createAccount(fixture.db, 'ada@example.com');
  const { secret } = await createKey(fixture.db, { accountId, mode: 'test' });
  client = new Framewright({ apiKey: secret, baseUrl: `${fixture.url}/api/v1` });
});
after(() => fixture.close());

test('a generation is one task with one charge, and its file is whole', async () => {
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'video.mp4');
  const seen: string[] = [];
  const video = await client.generate(
    {
      prompt: 'A paper boat',
      image_url: new Blob([Uint8Array.from(await imageBytes('png'))]),
      mode: 'image-to-video',
    },
    { onProgress: ({ status }) => seen.push(status) },
  );
  await video.download(file);
  const whole = new Uint8Array(await (await fetch(video.url)).arrayBuffer());
  assert.deepEqual(new Uint8Array(await readFile(file)), whole);
  assert.deepEqual([seen.at(0), seen.at(-1)], ['processing', 'completed']);
  const { available_credits } = await client.credits.get();
  assert.equal(available_credits, 100_000 - video.credits_used);
});

test('a failed task is an error that says that it was refunded', async () => {
  const failed = client.generate({ prompt: 'A boat, test-failed' });
  await assert.rejects(failed, (error) => {
    assert.ok(error instanceof TaskFailedError);
    assert.equal(error.code, 'provider_failed');
    assert.equal(error.charged, 'refunded');
    assert.match(error.idempotencyKey ?? '', /^fw-/);
    return true;
  });
});

test('a file with a key of the caller: a prepared request fits again, another upload never pays', async () => {
  const idempotencyKey = 'order-4711';
  const image_url = new Blob([Uint8Array.from(await imageBytes('png'))]);
  const request = { prompt: 'A paper boat', mode: 'image-to-video', image_url } as const;
  const prepared = await client.videos.prepare(request);
  const first = await client.videos.create(prepared, { idempotencyKey });
  const again = await client.videos.create(prepared, { idempotencyKey });
  assert.equal(again.id, first.id);
  const { available_credits } = await client.credits.get();
  await assert.rejects(client.videos.create(request, { idempotencyKey }), (error) => {
    assert.ok(error instanceof ApiError);
    const { code, charged, retry } = error;
    assert.deepEqual(
      { code, charged, retry },
      { code: 'idempotency_conflict', charged: 'reserved', retry: 'never' },
    );
    return true;
  });
  assert.deepEqual(await client.credits.get(), { available_credits, balance_type: 'paid' });
  await client.videos.wait(first);
});

test('the list, a quote, a cancel and the models', async () => {
  const listed = await Array.fromAsync(client.videos.list({ limit: 1 }));
  assert.equal(listed.length, 3);
  const quote = await client.videos.quote({ prompt: 'A paper boat', duration: 4 });
  assert.deepEqual([quote.credits, quote.enough], [200, true]);
  const task = await client.videos.create({ prompt: 'A boat, test-slow' });
  const { cancel } = await client.videos.cancel(task.id);
  assert.equal(cancel, 'cancelled');
  assert.ok((await client.models.list()).data.length > 0);
});

test('no key and a base URL without its version are refused at once', () => {
  const apiKey = 'fw_test_any';
  assert.throws(
    () => new Framewright({ baseUrl: 'http://localhost/api/v1' }),
    /FRAMEWRIGHT_API_KEY/,
  );
  assert.throws(() => new Framewright({ apiKey, baseUrl: 'http://localhost' }), /\/api\/v1/);
});

test('a wait outlives a service that is killed and started again', async () => {
  await using folder = await temporaryFolder();
  const database = await createTestDatabase();
  await using _ = { [Symbol.asyncDispose]: () => database.close() };
  const accountId = await createAccount(database.db, 'ada@example.com');
  const { secret: apiKey } = await createKey(database.db, { accountId, mode: 'test' });
  const variables = { DATABASE_URL: database.url, DATA_DIR: folder.path };
  await using first = await startServiceProcess(variables);
  const patient = new Framewright({ apiKey, baseUrl: `${first.url}/api/v1`, maxRetries: 1 });
  const created = Promise.withResolvers<void>();
  const made = patient.generate(
    { prompt: 'A paper boat' },
    { onProgress: () => created.resolve() },
  );
  await created.promise;
  await first.kill('SIGKILL');
  const PORT = new URL(first.url).port;
  await using _second = await startServiceProcess((ports) => ({ ...ports, ...variables, PORT }));
  assert.equal((await made).status, 'completed');
});
