import { type Database, type Queryable, query } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import {
  ALL_DURATIONS,
  BUILT_IN,
  type Catalog,
  type CatalogDeps,
  type CatalogModel,
  type PriceVersion,
  type Rates,
} from './catalog.ts';
import { MODES, REQUEST_RATIOS, RESOLUTIONS } from './models.ts';

/** A model as an operator described it, without its state and prices. */
export type Definition = Pick<
  CatalogModel,
  'title' | 'modes' | 'durations' | 'aspectRatios' | 'audio' | 'seed'
>;

interface StoredModel extends Pick<CatalogModel, 'name' | 'state' | 'source'> {
  definition: Definition;
  prices: StoredPrice[];
}

type StoredPrice = Omit<PriceVersion, 'from'> & { from: string };

const readStored = query<[], StoredModel>(
  'catalog_read',
  `select name, definition, state, source,
     (select jsonb_agg(jsonb_build_object('version', version, 'from', holds_from) || rates
        order by holds_from, version)
      from model_prices where model = models.name) as prices
   from models order by created_at, name`,
);

/** A process of another version may have stored more: what this one does not know is left out. */
function modelOf({ definition, prices, ...row }: StoredModel): CatalogModel {
  const [first, ...later] = prices.map(priceOf);
  if (!first) throw new Error(`the model ${row.name} has no price`);
  return {
    ...row,
    ...definition,
    modes: MODES.filter((mode) => definition.modes.includes(mode)),
    durations: ALL_DURATIONS.filter((seconds) => definition.durations.includes(seconds)),
    aspectRatios: REQUEST_RATIOS.filter((ratio) => definition.aspectRatios.includes(ratio)),
    prices: [first, ...later],
  };
}

function priceOf({ from, standard, referenced, version }: StoredPrice): PriceVersion {
  const inOrder = (rates: Rates) =>
    Object.fromEntries(
      RESOLUTIONS.flatMap((resolution) =>
        rates[resolution] ? [[resolution, rates[resolution]]] : [],
      ),
    );
  return {
    version,
    from: new Date(from),
    standard: inOrder(standard),
    referenced: inOrder(referenced),
  };
}

function catalogOf(stored: StoredModel[]): Catalog {
  return { models: [...BUILT_IN.models, ...stored.map(modelOf)] };
}

export async function readCatalog(db: Queryable): Promise<Catalog> {
  return catalogOf(await readStored(db));
}

const FOLLOW_SECONDS = 1;

/** The catalog in memory: every process knows a change about a second later. */
export async function followCatalog(deps: {
  db: Database;
  log: Log;
  signal: AbortSignal;
}): Promise<CatalogDeps['catalog']> {
  let known = '[]';
  let catalog = BUILT_IN;
  const refresh = async () => {
    const stored = await readStored(deps.db);
    const text = JSON.stringify(stored);
    if (text === known) return;
    catalog = catalogOf(stored);
    known = text;
  };
  await refresh();
  startInterval(FOLLOW_SECONDS, { ...deps, name: 'following the models' }, refresh);
  return { current: () => catalog };
}
