import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INPUT_BYTES } from '../../src/catalog/limits.ts';
import { imageBytes, openMediaFixture } from './media-fixture.ts';
import { assertMediaRefused, FRAMES, REFERENCES } from './refused-media.ts';

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
  const refusal = [status, field, reason, limit_bytes];
  assert.deepEqual(refusal, [400, 'reference_image_urls', 'too_large', INPUT_BYTES]);
  assert.deepEqual(await fixture.storedFiles(), []);
});
