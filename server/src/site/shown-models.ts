import { type CatalogDeps, offeredModels } from '../catalog/catalog.ts';
import { priceAfter, ratesAt } from '../catalog/price.ts';

/** The offered models as the pages show them. */
export function shownModels({ catalog, now }: CatalogDeps) {
  const [current, at] = [catalog.current(), new Date(now())];
  return {
    // Credits per second by model and resolution; `referenced`: with reference videos.
    prices: ratesAt(current, at),
    models: offeredModels(current).map((model) => {
      const { name, title, modes, durations, aspectRatios, seed } = model;
      // null: no price is announced.
      const next_price = priceAfter(model, at) ?? null;
      return { name, title, modes, durations, aspect_ratios: aspectRatios, seed, next_price };
    }),
  };
}
