import {
  type Database,
  type Queryable,
  query,
  type Transaction,
  whether,
} from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { type Brand, type BrandDeps, type BrandSettings, DEFAULT_BRAND } from './brand.ts';

interface StoredBrand {
  version: number;
  settings: BrandSettings;
}

const readOtherThan = query<[version: number], StoredBrand>(
  'brand_read',
  'select version, settings from brand where version <> $1',
);

const UNKNOWN = -1;

/** What operators have set. */
export async function readBrandSettings(db: Queryable): Promise<BrandSettings> {
  const [stored] = await readOtherThan(db, UNKNOWN);
  return stored?.settings ?? {};
}

const merge = whether<[changes: string], Transaction>(
  'brand_set',
  `update brand set version = version + 1, settings = jsonb_strip_nulls(settings || $1::jsonb)
   where settings <> jsonb_strip_nulls(settings || $1::jsonb) returning version`,
);

/** @param changes checked values; null: the default. @returns false if nothing has changed */
export function setBrand(
  tx: Transaction,
  changes: { [Field in keyof BrandSettings]: string | null },
): Promise<boolean> {
  return merge(tx, jsonText(changes));
}

const FOLLOW_SECONDS = 1;

/** The brand in memory: every process knows a change about a second later. */
export async function followBrand({
  fixed,
  ...deps
}: {
  db: Database;
  log: Log;
  signal: AbortSignal;
  fixed: BrandSettings;
}): Promise<BrandDeps['brand']> {
  let version = UNKNOWN;
  let brand: Brand = DEFAULT_BRAND;
  const refresh = async () => {
    const [changed] = await readOtherThan(deps.db, version);
    if (!changed) return;
    brand = { ...DEFAULT_BRAND, ...changed.settings, ...fixed };
    version = changed.version;
  };
  await refresh();
  startInterval(FOLLOW_SECONDS, { ...deps, name: 'following the brand' }, refresh);
  return { current: () => brand, fixed };
}
