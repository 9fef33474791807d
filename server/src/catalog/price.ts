import {
  type Catalog,
  type CatalogModel,
  modelNamed,
  offeredModels,
  type PriceVersion,
  type Rates,
} from './catalog.ts';
import type { Resolution } from './models.ts';

/** A price in credits, and the version of the model's price that it comes from. */
export interface Price {
  credits: number;
  version: number;
}

/** The fields of a request that decide its price. Seconds are whole. */
export interface PricedRequest {
  model: string;
  resolution: Resolution;
  duration: number;
  reference_video_durations?: readonly number[] | undefined;
}

/** The price that applies at a time. */
export function priceAt({ prices }: CatalogModel, at: Date): PriceVersion {
  return prices.findLast(({ from }) => from <= at) ?? prices[0];
}

/** The next announced price: the one set last, if several were set for its date. */
export function priceAfter({ prices }: CatalogModel, at: Date): PriceVersion | undefined {
  const next = prices.find(({ from }) => from > at);
  return next && prices.findLast(({ from }) => Number(from) === Number(next.from));
}

/** The seconds that are charged, as declared. */
export function secondsOf(request: Pick<PricedRequest, 'duration' | 'reference_video_durations'>) {
  const referenced = request.reference_video_durations ?? [];
  return { output: request.duration, reference: referenced.reduce((a, b) => a + b, 0) };
}

/**
 * What a request costs by one price version. A request with reference videos has the `referenced`
 * rates; its seconds are those of the output plus those of the reference videos.
 * @returns undefined when the model does not offer the resolution
 */
export function creditsBy(price: PriceVersion, request: PricedRequest): number | undefined {
  const { output, reference } = secondsOf(request);
  const rates = reference > 0 ? price.referenced : price.standard;
  const creditsPerSecond = rates[request.resolution];
  return creditsPerSecond && (output + reference) * creditsPerSecond;
}

/**
 * The price of a request that is created at this time.
 * @returns undefined when the model does not offer the resolution
 */
export function priceOf(catalog: Catalog, request: PricedRequest, at: Date): Price | undefined {
  const model = modelNamed(catalog, request.model);
  if (!model) return undefined;
  const price = priceAt(model, at);
  const credits = creditsBy(price, request);
  return credits === undefined ? undefined : { credits, version: price.version };
}

/** A number that grows whenever a price takes effect. */
export function priceVersionAt({ models }: Catalog, at: Date): number {
  const changes = models.flatMap(({ prices }) => prices.filter(({ version }) => version > 1));
  return 1 + changes.filter(({ from }) => from <= at).length;
}

/** The rates of the offered models at a time, by their names. */
export function ratesAt(catalog: Catalog, at: Date) {
  const prices = offeredModels(catalog).map((model) => ({ model, price: priceAt(model, at) }));
  const ratesOf = (kind: 'standard' | 'referenced'): Record<string, Rates> =>
    Object.fromEntries(prices.map(({ model, price }) => [model.name, price[kind]]));
  return {
    version: priceVersionAt(catalog, at),
    standard: ratesOf('standard'),
    referenced: ratesOf('referenced'),
  };
}
