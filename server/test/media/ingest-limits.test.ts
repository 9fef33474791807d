import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INPUT_BYTES } from '../../src/catalog/limits.ts';
import { deleted, imageBytes, openMediaFixture } from './media-fixture.ts';
import { assertMediaRefused, FRAMES, REFERENCES } from './refused-media.ts';

const tooLarge = { reason: 'too_large', limit_bytes: INPUT_BYTES };

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
  const refused = async (image_url: string) => {
    await assertMediaRefused(
      fixture,
      { ...FRAMES, image_url },
      { field: 'image_url', ...tooLarge },
    );
    await host.idle();
  };
  await t.test('a host that announces more', async () => {
    const text = `HTTP/1.1 200 OK\r\ncontent-length: ${INPUT_BYTES + 1}\r\n\r\n`;
    await refused(host.serve('/announced', { kind: 'raw', text }));
  });
  await t.test('bytes without end', () => refused(host.serve('/endless', { kind: 'endless' })));
  await t.test('a few bytes that decode to more', () =>
    refused(host.serve('/bomb', { kind: 'gzip_bomb', decodedBytes: 2 * INPUT_BYTES })),
  );
  await t.test('two files that are too large together', async () => {
    const picture = await imageBytes('png');
    const padded = (sizeBytes: number) => {
      const bytes = Buffer.alloc(sizeBytes); // decoders ignore bytes after a picture's end
      picture.copy(bytes);
      return bytes;
    };
    const first = host.serve('/half', { kind: 'bytes', bytes: padded(INPUT_BYTES / 2) });
    const second = host.serve('/more', { kind: 'bytes', bytes: padded(INPUT_BYTES / 2 + 1) });
    const reference_image_urls = [first, second];
    const customer = await fixture.customer(60);
    const { status, body } = await customer.create({ ...REFERENCES, reference_image_urls });
    const { field, reason, limit_bytes } = body.error.details;
    assert.deepEqual(
      [status, field, reason, limit_bytes],
      [400, 'reference_image_urls', 'too_large', INPUT_BYTES],
    );
  });
  assert.deepEqual(await fixture.storedFiles(), []);
});
