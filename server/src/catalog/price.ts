import type { Model, Resolution } from './models.ts';

type Rates = Record<Model, Partial<Record<Resolution, number>>>;

/**
 * Credits per second by model and output resolution (contract, "Credit pricing"). A request with
 * reference videos has the `referenced` rates; its seconds are those of the output plus those of
 * the reference videos. If you change a number, increase the version: a task keeps the price and
 * version that it was created with (C12).
 */
export const PRICE_TABLE: { version: number; standard: Rates; referenced: Rates } = {
  version: 1,
  standard: {
    'video-2.0': { '480p': 30, '720p': 60, '1080p': 150, '4k': 350 },
    'video-2.0-fast': { '480p': 25, '720p': 50 },
    'video-2.0-mini': { '480p': 15, '720p': 30 },
  },
  referenced: {
    'video-2.0': { '480p': 20, '720p': 40, '1080p': 100, '4k': 200 },
    'video-2.0-fast': { '480p': 15, '720p': 30 },
    'video-2.0-mini': { '480p': 10, '720p': 20 },
  },
};

/** A price in credits, and the version of the table that it comes from. */
export interface Price {
  credits: number;
  version: number;
}

/** The fields of a request that decide its price. Seconds are whole. */
export interface PricedRequest {
  model: Model;
  resolution: Resolution;
  duration: number;
  reference_video_urls: readonly string[];
  reference_video_durations?: readonly number[] | undefined;
}

/** `creditsPerSecond` is undefined when the model does not offer the resolution. */
export function priceParts(request: PricedRequest) {
  const rates = request.reference_video_urls.length > 0 ? 'referenced' : 'standard';
  return {
    creditsPerSecond: PRICE_TABLE[rates][request.model][request.resolution],
    outputSeconds: request.duration,
    referenceSeconds: (request.reference_video_durations ?? []).reduce((a, b) => a + b, 0),
  };
}

/** By the declared seconds. @returns undefined when the model does not offer the resolution */
export function priceOf(request: PricedRequest): Price | undefined {
  const { creditsPerSecond, outputSeconds, referenceSeconds } = priceParts(request);
  if (creditsPerSecond === undefined) return undefined;
  const credits = (outputSeconds + referenceSeconds) * creditsPerSecond;
  return { credits, version: PRICE_TABLE.version };
}
