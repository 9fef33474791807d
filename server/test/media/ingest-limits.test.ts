import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INPUT_BYTES } from '../../src/catalog/limits.ts';
import { deleted, imageBytes, openMediaFixture } from './media-fixture.ts';
import { assertMediaRefused, FRAMES, REFERENCES } from './refused-media.ts';

test('a host slower than the timeouts of the guarded fetch is refused as too slow', {
  concurrency: true,
}, async (t) => {
  const fixture = await openMediaFixture({
    guardedFetch: { deadlineSeconds: 3, idleTimeoutSeconds: 1, headersTimeoutSeconds: 1 },
  });
  t.after(() => fixture.close());
  const { host } = fixture;
  const deadline = { deadline_seconds: 3 };
  const some = Buffer.alloc(100);
  const cases: [string, string, object][] = [
    ['no response', host.serve('/stall', { kind: 'stall' }), {}],
    ['half a response', host.serve('/half', { kind: 'stall_in_body', bytes: some }), {}],
    [
      'a slow body that never ends',
      host.serve('/drip', { kind: 'drip', chunkBytes: 1, everySeconds: 0.2 }),
      deadline,
    ],
  ];
  const tests = cases.map(([title, image_url, more]) =>
    t.test(title, async () => {
      const expected = { field: 'image_url', reason: 'too_slow', ...more };
      await deleted(fixture, await assertMediaRefused(fixture, { ...FRAMES, image_url }, expected));
      await host.idle();
    }),
  );
  await Promise.all(tests);
  assert.deepEqual(await fixture.storedFiles(), []);
});

test('all inputs of a request share 256 MB, counted as they arrive', async (t) => {
  const fixture = await openMediaFixture();
  t.after(() => fixture.close());
  const { host } = fixture;
  const image_url = host.serve('/endless', { kind: 'endless' });
  const endless = { field: 'image_url', reason: 'too_large', limit_bytes: INPUT_BYTES };
  await assertMediaRefused(fixture, { ...FRAMES, image_url }, endless);
  await host.idle();
  const picture = await imageBytes('png');
  const padded = (path: string, sizeBytes: number) => {
    const bytes = Buffer.alloc(sizeBytes); // decoders ignore bytes after a picture's end
    picture.copy(bytes);
    return host.serve(path, { kind: 'bytes', bytes });
  };
  const both = [padded('/half', INPUT_BYTES / 2), padded('/more', INPUT_BYTES / 2 + 1)];
  const customer = await fixture.customer(60);
  const { status, body } = await customer.create({ ...REFERENCES, reference_image_urls: both });
  const { field, reason, limit_bytes } = body.error.details;
  assert.deepEqual(
    [status, field, reason, limit_bytes],
    [400, 'reference_image_urls', 'too_large', INPUT_BYTES],
  );
  assert.deepEqual(await fixture.storedFiles(), []);
});
