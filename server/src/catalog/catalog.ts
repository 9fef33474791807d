// The room catalog/: the models, their prices, and the fields and rules of a request. The catalog
// is an immutable value in memory that is replaced when an operator changes a model
// (decisions/0064).

import { DURATION_SECONDS } from './limits.ts';
import {
  BUILT_IN_MODELS,
  type BuiltInModel,
  MODES,
  type Mode,
  REQUEST_RATIOS,
  type RequestRatio,
  type Resolution,
} from './models.ts';

/** Credits per second by output resolution; a resolution that is missing is not offered. */
export type Rates = Partial<Record<Resolution, number>>;

/** A model's credits per second, without and with reference videos. */
export interface ModelRates {
  standard: Rates;
  /** Empty if the model takes no reference videos; otherwise the resolutions of `standard`. */
  referenced: Rates;
}

/** A model's price from a date on. A task keeps the version of its create (C12). */
export interface PriceVersion extends ModelRates {
  version: number;
  from: Date;
}

export interface CatalogModel {
  name: string;
  /** The name that people read. */
  title: string;
  modes: readonly Mode[];
  /** Whole seconds, in order. */
  durations: readonly number[];
  /** `adaptive` only if it has all others: the files of a request decide which one is made. */
  aspectRatios: readonly RequestRatio[];
  /** Whether it makes sound, and takes a seed: shown to customers, but checked in no request. */
  audio: boolean;
  seed: boolean;
  /** `hidden` models are in no list but can be named. `retired` ones take no new tasks. */
  state: 'offered' | 'hidden' | 'retired';
  source: 'built-in' | 'file' | 'operator';
  /** In the order in which they take effect; the first applies from the beginning. */
  prices: readonly [PriceVersion, ...PriceVersion[]];
}

/** All models, the built-in ones first. Immutable: a change makes a new one. */
export interface Catalog {
  models: readonly CatalogModel[];
}

/**
 * How long a new price must be announced before it takes effect. GET /models may be cached for as
 * long, so a client that asks there knows each price before it pays it.
 */
export const NOTICE_SECONDS = 300;

/** Credits per second (contract, "Credit pricing"). */
const BUILT_IN_RATES: Record<BuiltInModel, ModelRates> = {
  'video-2.0': {
    standard: { '480p': 30, '720p': 60, '1080p': 150, '4k': 350 },
    referenced: { '480p': 20, '720p': 40, '1080p': 100, '4k': 200 },
  },
  'video-2.0-fast': {
    standard: { '480p': 25, '720p': 50 },
    referenced: { '480p': 15, '720p': 30 },
  },
  'video-2.0-mini': {
    standard: { '480p': 15, '720p': 30 },
    referenced: { '480p': 10, '720p': 20 },
  },
};

/** All durations of the contract. */
export const ALL_DURATIONS: readonly number[] = Array.from(
  { length: DURATION_SECONDS.max - DURATION_SECONDS.min + 1 },
  (_, i) => DURATION_SECONDS.min + i,
);

/** The built-in models, which nobody changes. */
export const BUILT_IN: Catalog = {
  models: BUILT_IN_MODELS.map((name) => ({
    name,
    title: name,
    modes: MODES,
    durations: ALL_DURATIONS,
    aspectRatios: REQUEST_RATIOS,
    audio: true,
    seed: true,
    state: 'offered',
    source: 'built-in',
    prices: [{ version: 1, from: new Date(0), ...BUILT_IN_RATES[name] }],
  })),
};

/** What a price depends on. */
export interface CatalogDeps {
  catalog: { current(): Catalog };
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
}

export function modelNamed({ models }: Catalog, name: string): CatalogModel | undefined {
  return models.find((model) => model.name === name);
}

/** The models in lists, in forms and in the description of the API. */
export function offeredModels({ models }: Catalog): readonly CatalogModel[] {
  return models.filter(({ state }) => state === 'offered');
}

/** The names that a 400 suggests. */
export function offeredNames(catalog: Catalog): string[] {
  return offeredModels(catalog).map(({ name }) => name);
}
