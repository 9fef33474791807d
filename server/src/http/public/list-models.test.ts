import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp, parseResponse } from '../../../test/app.ts';
import { BUILT_IN_MODELS, RESOLUTIONS } from '../../catalog/models.ts';

const api = await openTestApp();
after(() => api.close());

async function read(headers: Record<string, string> = {}) {
  return parseResponse(await api.app.inject({ url: '/api/v1/models', headers }));
}

test('the models need no API key, and each price is what a create reserves', async () => {
  const { status, headers, body } = await read();
  assert.equal(status, 200);
  assert.match(String(headers['x-request-id']), /^req_/);
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    BUILT_IN_MODELS,
  );
  const customer = await api.customer(1_000_000);
  for (const { id: model, resolutions, credits_per_second: rates } of body.data) {
    for (const resolution of RESOLUTIONS) {
      const response = await customer.create({ prompt: 'a kite', model, resolution, duration: 4 });
      assert.equal(response.status, resolutions.includes(resolution) ? 202 : 400);
      assert.equal(
        response.body.credits_used,
        rates.standard[resolution] && 4 * rates.standard[resolution],
      );
      assert.equal(resolution in rates.referenced, resolutions.includes(resolution));
    }
  }
});

test('the models have the limits of the contract', async () => {
  const { body } = await read();
  assert.deepEqual(body.media, {
    max_total_bytes: 268_435_456,
    max_reference_images: 8,
    max_reference_videos: 3,
    reference_video_seconds: { min: 2, max: 15 },
    max_total_reference_seconds: 15,
    reference_video_short_side: { min: 480, max: 720 },
    max_image_pixels: 64_000_000,
    max_video_pixels: 9_437_184,
  });
  assert.deepEqual(body.duration_seconds, { min: 4, max: 15 });
  assert.deepEqual(body.prompt_characters, { min: 3, max: 4000 });
  assert.deepEqual(body.aspect_ratios, '1:1 21:9 4:3 3:4 16:9 9:16 adaptive'.split(' '));
  assert.deepEqual(body.modes[1], {
    id: 'image-to-video',
    accepts: ['image_url', 'end_image_url'],
    requires_one_of: ['image_url'],
  });
});

test('a copy of the models is confirmed by its ETag, and may be cached', async () => {
  const { headers } = await read();
  const etag = String(headers.etag);
  assert.match(etag, /^"[\w-]+"$/);
  assert.equal(headers['cache-control'], 'public, max-age=300');
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await read({ 'if-none-match': known });
    assert.deepEqual([again.status, again.body, again.headers.etag], [304, null, etag], known);
    assert.equal(again.headers['cache-control'], 'public, max-age=300');
  }
  for (const other of ['"other"', '', etag.slice(1, -1)]) {
    assert.equal((await read({ 'if-none-match': other })).status, 200);
  }
});
