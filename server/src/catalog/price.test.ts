import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogWith, NOVA } from '../../test/catalogs.ts';
import { requestOf } from '../../test/requests.ts';
import { BUILT_IN, type CatalogModel } from './catalog.ts';
import { RESOLUTIONS } from './models.ts';
import { type PricedRequest, priceAfter, priceOf as priceAtTime, priceVersionAt } from './price.ts';
import type { GenerationRequest } from './request.ts';

const priceOf = (request: PricedRequest) => priceAtTime(BUILT_IN, request, new Date());

const PLAIN = requestOf({ prompt: 'a lighthouse at dawn' });

function withVideos(durations: number[], wish: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    ...PLAIN,
    mode: 'media-to-video',
    reference_video_urls: durations.map((_, index) => `https://media.example/${index}.mp4`),
    reference_video_durations: durations,
    ...wish,
  };
}

/** The contract's tables: model, rates by resolution, rates with reference videos. */
const RATES = [
  ['video-2.0', [30, 60, 150, 350], [20, 40, 100, 200]],
  ['video-2.0-fast', [25, 50, undefined, undefined], [15, 30, undefined, undefined]],
  ['video-2.0-mini', [15, 30, undefined, undefined], [10, 20, undefined, undefined]],
] as const;

test('each model and resolution has the price of the contract, or is not offered', () => {
  for (const [model, standard, referenced] of RATES) {
    for (const [column, resolution] of RESOLUTIONS.entries()) {
      const plain = { ...PLAIN, model, resolution, duration: 4 };
      const rate = standard[column];
      assert.equal(priceOf(plain)?.credits, rate && 4 * rate, `${model} ${resolution}`);
      const videos = withVideos([2, 9], { model, resolution, duration: 15 });
      const referenceRate = referenced[column];
      assert.equal(priceOf(videos)?.credits, referenceRate && 26 * referenceRate);
    }
  }
});

test('a price applies from its date on, and the last that was set for a date counts', () => {
  const day = (n: number) => new Date(Date.UTC(2027, 0, n));
  const cost = (version: number, n: number, rate: number) => {
    return { version, from: day(n), standard: { '480p': rate }, referenced: {} } as const;
  };
  const model: CatalogModel = {
    ...NOVA,
    prices: [cost(2, 1, 10), cost(4, 9, 30), cost(3, 20, 5), cost(6, 20, 40)],
  };
  const at = { ...PLAIN, model: NOVA.name, resolution: '480p', duration: 4 } as const;
  const catalog = catalogWith(model);
  const seen = [day(0), day(1), new Date(+day(9) - 1), day(9), day(19), day(20)].map((now) => {
    const price = priceAtTime(catalog, at, now);
    return [price?.version, price?.credits, priceAfter(model, now)?.version];
  });
  assert.deepEqual(seen, [
    [2, 40, 2],
    [2, 40, 4],
    [2, 40, 4],
    [4, 120, 6],
    [4, 120, 6],
    [6, 160, undefined],
  ]);
  const versions = [0, 1, 9, 20].map((n) => priceVersionAt(catalog, day(n)));
  assert.deepEqual(versions, [1, 2, 3, 5]);
  assert.equal(priceVersionAt(BUILT_IN, day(1)), 1);
});
