import { BUILT_IN, type Catalog, type CatalogModel } from '../src/catalog/catalog.ts';

/** A model that differs from the contract's wherever it may, with an announced price. */
export const NOVA: CatalogModel = {
  name: 'nova-1',
  title: 'Nova',
  modes: ['text-to-video', 'media-to-video'],
  durations: [5, 10],
  aspectRatios: ['16:9', '9:16'],
  audio: false,
  seed: false,
  state: 'offered',
  source: 'operator',
  prices: [
    { version: 2, from: new Date('2026-01-01'), standard: { '480p': 7 }, referenced: {} },
    {
      version: 5,
      from: new Date('2126-01-01'),
      standard: { '480p': 8, '720p': 16 },
      referenced: { '480p': 3, '720p': 6 },
    },
  ],
};

/** The contract's models and these. */
export function catalogWith(...models: CatalogModel[]): Catalog {
  return { models: [...BUILT_IN.models, ...models] };
}
