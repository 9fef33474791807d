import { isDeepStrictEqual } from 'node:util';
import { readClockMs } from '../database/clock.ts';
import { command, namedStatement, type Transaction, whether } from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import { Refusal, UsageError } from '../kernel/errors.ts';
import {
  ALL_DURATIONS,
  type CatalogModel,
  type ModelRates,
  modelNamed,
  NOTICE_SECONDS,
  type Rates,
} from './catalog.ts';
import { ASPECT_RATIOS, MODES, REQUEST_RATIOS, RESOLUTIONS } from './models.ts';
import { priceAt } from './price.ts';
import { type Definition, readCatalog } from './stored-models.ts';

export const NAME_SHAPE = /^[a-z0-9][a-z0-9._-]{1,62}$/;

/**
 * A model as an operator describes it. Values that the contract does not allow are dropped. Omitted
 * fields stay as they are; those of a new model become everything that the contract allows.
 */
export interface ModelWish {
  title?: string | undefined;
  modes?: readonly string[] | undefined;
  /** Whole seconds. */
  durations?: readonly number[] | undefined;
  aspect_ratios?: readonly string[] | undefined;
  sound?: boolean | undefined;
  seed?: boolean | undefined;
  state?: CatalogModel['state'] | undefined;
  /** Credits per second by resolution. */
  price?: Record<string, number> | undefined;
  /** The same for requests with reference videos. Empty: the model takes none. */
  reference_price?: Record<string, number> | undefined;
  /** When a changed price takes effect. */
  from?: Date | undefined;
}

/** Values that the contract does not allow, by field. */
export type Dropped = Record<string, (string | number)[]>;

/**
 * Creates or changes a model, reduced to what the contract allows. Prices are only ever added.
 * @throws UsageError if commands can't change the model, Refusal that names a field
 */
export async function setModel(
  tx: Transaction,
  { name, source, wish }: Pick<CatalogModel, 'name' | 'source'> & { wish: ModelWish },
): Promise<{ changed: boolean; dropped: Dropped }> {
  await lockModels(tx);
  const before = modelNamed(await readCatalog(tx), name);
  await requireOwner(tx, before, source);
  const at = new Date(await readClockMs(tx));
  const dropped: Dropped = {};
  // A file describes its models in full: a field that an entry leaves out gets its default.
  const base = source === 'file' ? undefined : before;
  const definition = definitionOf(name, wish, base, dropped);
  const rates = newRates(wish, before, { at, dropped });
  const state = wish.state ?? base?.state ?? 'offered';
  const values = SET.values({ name, definition: jsonText(definition), state, source });
  const isSet = (await tx.query(SET, values)).length > 0;
  if (rates) await addPrice(tx, name, before ? (wish.from ?? null) : null, jsonText(rates));
  return { changed: isSet || rates !== undefined, dropped };
}

/** Changes run one at a time: each is checked against the result of the last. */
export const lockModels = command<[], Transaction>(
  'catalog_lock',
  `select pg_advisory_xact_lock(hashtextextended('models', 0))`,
);

const SET = namedStatement(
  'catalog_set',
  `insert into models (name, definition, state, source)
   values (:name, :definition, :state, :source)
   on conflict (name) do update
     set definition = excluded.definition, state = excluded.state, source = excluded.source
   where (models.definition, models.state, models.source)
     is distinct from (excluded.definition, excluded.state, excluded.source)
   returning name`,
);

const addPrice = command<[model: string, from: Date | null, rates: string], Transaction>(
  'catalog_add_price',
  `insert into model_prices (model, holds_from, rates)
   values ($1, coalesce($2::timestamptz, clock_now()), $3)`,
);

/**
 * A retired model gets no new tasks. Its existing ones go on, and stay readable.
 * @returns false if it was retired before
 */
export async function retireModel(tx: Transaction, name: string): Promise<boolean> {
  await lockModels(tx);
  const before = modelNamed(await readCatalog(tx), name);
  if (!before) throw new UsageError(`there is no model ${JSON.stringify(name)}`);
  await requireOwner(tx, before, 'operator');
  return retire(tx, name);
}

const retire = whether<[name: string], Transaction>(
  'catalog_retire',
  `update models set state = 'retired' where name = $1 and state <> 'retired' returning name`,
);

/** A condition on `model_files`: the process that read the file still runs. */
export const FILE_IS_READ = `seen_at > clock_now() - interval '30 seconds'`;

const isFileRead = whether<[], Transaction>(
  'model_file_read',
  `select from model_files where ${FILE_IS_READ} limit 1`,
);

async function requireOwner(
  tx: Transaction,
  before: CatalogModel | undefined,
  source: CatalogModel['source'],
): Promise<void> {
  if (before?.source === 'built-in') {
    throw new UsageError(`${before.name} is a built-in model: it can't be changed`);
  }
  if (before?.source === 'file' && source !== 'file' && (await isFileRead(tx))) {
    throw new UsageError(`${before.name} is a model of MODELS_FILE: change it there`);
  }
}

function definitionOf(
  name: string,
  wish: ModelWish,
  before: CatalogModel | undefined,
  dropped: Dropped,
): Definition {
  const { title = name, modes = MODES, durations = ALL_DURATIONS } = before ?? {};
  const { aspectRatios = REQUEST_RATIOS, audio = true, seed = true } = before ?? {};
  const isAdaptive = ASPECT_RATIOS.every((ratio) => wish.aspect_ratios?.includes(ratio));
  const ratios = isAdaptive ? REQUEST_RATIOS : ASPECT_RATIOS;
  return {
    title: wish.title ?? title,
    modes: keepAllowed('modes', wish.modes, MODES, dropped) ?? modes,
    durations: keepAllowed('durations', wish.durations, ALL_DURATIONS, dropped) ?? durations,
    aspectRatios: keepAllowed('aspect_ratios', wish.aspect_ratios, ratios, dropped) ?? aspectRatios,
    audio: wish.sound ?? audio,
    seed: wish.seed ?? seed,
  };
}

/** The given values that the contract has, in its order. The others are added to `dropped`. */
export function withinContract<Value extends string | number>(
  field: string,
  given: readonly (string | number)[],
  ofContract: readonly Value[],
  dropped: Dropped,
): Value[] {
  const strange = given.filter((value) => !ofContract.some((known) => known === value));
  if (strange.length > 0) dropped[field] = strange;
  return ofContract.filter((value) => given.includes(value));
}

/** As {@link withinContract}; undefined if none are given. @throws Refusal if none are left */
function keepAllowed<Value extends string | number>(
  field: keyof ModelWish,
  given: readonly (string | number)[] | undefined,
  ofContract: readonly Value[],
  dropped: Dropped,
): Value[] | undefined {
  if (!given) return undefined;
  const common = withinContract(field, given, ofContract, dropped);
  if (common.length > 0) return common;
  throw new Refusal(field, given, `must have at least one of ${ofContract.join(', ')}`);
}

/** @returns the rates of a new price version; undefined if the price is as it was */
function newRates(
  wish: ModelWish,
  before: CatalogModel | undefined,
  { at, dropped }: { at: Date; dropped: Dropped },
): ModelRates | undefined {
  const { from } = wish;
  const isLater = from !== undefined && from > at;
  const old = before && priceAt(before, isLater ? from : at);
  const given = ratesIn('price', wish.price, dropped);
  const referenced = ratesIn('reference_price', wish.reference_price, dropped);
  const standard = given ?? old?.standard;
  if (!standard) throw new Refusal('price', wish.price, 'is required: the model is new');
  const rates = { standard, referenced: referenced ?? old?.referenced ?? {} };
  requireSameResolutions(rates, wish);
  if (!old) {
    if (!isLater) return rates;
    throw new Refusal('from', from, 'must be left out: the first price of a model applies at once');
  }
  const { standard: oldStandard, referenced: oldReferenced } = old;
  if (isDeepStrictEqual(rates, { standard: oldStandard, referenced: oldReferenced })) {
    return undefined;
  }
  if (from && Number(from) >= Number(at) + NOTICE_SECONDS * 1000) return rates;
  throw new Refusal(
    'from',
    from,
    `must be at least ${NOTICE_SECONDS / 60} minutes from now: customers see a price before they pay it`,
  );
}

const MAX_RATE = 1_000_000;

function ratesIn(
  field: 'price' | 'reference_price',
  given: Record<string, number> | undefined,
  dropped: Dropped,
): Rates | undefined {
  if (!given) return undefined;
  const isCredits = (rate: number) => Number.isInteger(rate) && rate >= 1 && rate <= MAX_RATE;
  if (!Object.values(given).every(isCredits)) {
    throw new Refusal(field, given, `must be whole credits from 1 to ${MAX_RATE} a second`);
  }
  if (field === 'reference_price' && Object.keys(given).length === 0) return {};
  const resolutions = keepAllowed(field, Object.keys(given), RESOLUTIONS, dropped) ?? [];
  return Object.fromEntries(resolutions.map((resolution) => [resolution, given[resolution]]));
}

function requireSameResolutions({ standard, referenced }: ModelRates, wish: ModelWish): void {
  const names = Object.keys(referenced);
  if (names.length === 0 || isDeepStrictEqual(names, Object.keys(standard))) return;
  throw new Refusal(
    'reference_price',
    wish.reference_price,
    'must have the resolutions of {price}, or none at all',
  );
}
