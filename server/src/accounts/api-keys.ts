import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  namedStatement,
  type Queryable,
  query,
  queryColumn,
  queryFirst,
  queryValue,
  whether,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { newId, randomBase62, toBase62 } from '../kernel/ids.ts';
import { openTestBalance } from '../ledger/test-credits.ts';

/**
 * Which credits a key's tasks spend. A test key's tasks never reach a real provider
 * (decisions/0048). A key never changes its mode.
 */
export type KeyMode = 'live' | 'test';

const SHAPE = /^fw_(?:live|test)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

function checksum(random: string): string {
  return toBase62(crc32(random), 6);
}

/** A new secret: a prefix, 32 random base62 characters (190 bits), and their CRC-32 in base62. */
export function newSecret(mode: KeyMode = 'live'): string {
  const random = randomBase62(32);
  return `fw_${mode}_${random}${checksum(random)}`;
}

/** Whether a text has a secret's shape and checksum. If not, it is refused without a query. */
export function looksLikeSecret(text: string): boolean {
  const [, random, sum] = SHAPE.exec(text) ?? [];
  return random !== undefined && checksum(random) === sum;
}

/** Only a SHA-256 is stored. No slow hash is needed: a secret has too many random bits to guess. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

const INSERT = namedStatement(
  'key_insert',
  `insert into api_keys (id, account_id, mode, name, secret_hash, expires_at, monthly_cap)
   values (:id, :accountId, :mode, :name, :secretHash, :expiresAt, :monthlyCap)`,
);

export interface NewKey {
  accountId: string;
  /** `live` if omitted. */
  mode?: KeyMode | undefined;
  name?: string | undefined;
  expiresAt?: Date | undefined;
  /** Credits that its creates may spend per calendar month (UTC); at least 0. */
  monthlyCap?: number | undefined;
}

/**
 * Creates an API key; with an account's first test key, also its test balance.
 * @returns its id and secret; only the hash is stored, so the secret can't be shown again
 */
export async function createKey(
  db: Queryable,
  key: NewKey,
): Promise<{ keyId: string; secret: string }> {
  const { accountId, mode = 'live' } = key;
  if (mode === 'test') await openTestBalance(db, accountId);
  const keyId = newId('apiKey');
  const secret = newSecret(mode);
  const { name, expiresAt, monthlyCap } = key;
  const own = { id: keyId, accountId, mode, secretHash: hashSecret(secret) };
  await db.query(INSERT, INSERT.values({ ...own, name, expiresAt, monthlyCap }));
  return { keyId, secret };
}

/** An API key's terms, for recorded actions. An erasure could not remove the key's name there. */
export const keyTerms = queryFirst<
  [id: string],
  { monthlyCap: number | null; expiresAt: Date | null }
>(
  'key_terms',
  'select monthly_cap as "monthlyCap", expires_at as "expiresAt" from api_keys where id = $1',
);

const UPDATE = namedStatement(
  'key_update',
  `update api_keys set name = case when :setsName then :name else name end,
     monthly_cap = case when :setsCap then :monthlyCap::bigint else monthly_cap end,
     expires_at = case when :setsExpiry then :expiresAt::timestamptz else expires_at end
   where id = :id and (:setsName and name is distinct from :name
     or :setsCap and monthly_cap is distinct from :monthlyCap::bigint
     or :setsExpiry and expires_at is distinct from :expiresAt::timestamptz)
   returning id`,
);

/**
 * Changes a key's name, spending cap or expiry; null removes it.
 * @returns false if nothing changed
 * @throws UsageError if no key has this id
 */
export async function updateKey(
  db: Queryable,
  id: string,
  changes: { [Field in 'name' | 'expiresAt' | 'monthlyCap']?: NewKey[Field] | null },
): Promise<boolean> {
  const { name, monthlyCap, expiresAt } = changes;
  const values = UPDATE.values({
    id,
    setsName: name !== undefined,
    name: name ?? null,
    setsCap: monthlyCap !== undefined,
    monthlyCap: monthlyCap ?? null,
    setsExpiry: expiresAt !== undefined,
    expiresAt: expiresAt ?? null,
  });
  if ((await db.query(UPDATE, values)).length > 0) return true;
  await requireKey(db, id);
  return false;
}

const revoke = whether<[keyId: string]>(
  'key_revoke',
  `update api_keys set revoked_at = clock_now()
   where id = $1 and revoked_at is null returning id`,
);

const exists = whether<[keyId: string]>('key_exists', 'select from api_keys where id = $1');

/**
 * Revokes a key: its requests get 401 in every process, or 429 for up to a second while its window
 * is known to be full.
 * @returns false if it was revoked already
 * @throws UsageError if no key has this id
 */
export async function revokeKey(db: Queryable, keyId: string): Promise<boolean> {
  if (await revoke(db, keyId)) return true;
  await requireKey(db, keyId);
  return false;
}

async function requireKey(db: Queryable, keyId: string): Promise<void> {
  if (!(await exists(db, keyId)))
    throw new UsageError(`no API key has the id ${JSON.stringify(keyId)}`);
}

/** Revokes an account's keys. @returns the ids of those that were not revoked before */
export const revokeAllKeys = queryColumn<[accountId: string], string>(
  'key_revoke_all',
  `update api_keys set revoked_at = clock_now()
   where account_id = $1 and revoked_at is null returning id`,
);

/** Counts the keys that are neither revoked nor expired. */
export const countValidKeys = queryValue<[accountId: string], number>(
  'key_valid',
  `select count(*)::int as keys from api_keys where account_id = $1 and revoked_at is null
     and (expires_at is null or expires_at > clock_now())`,
  0,
);

export interface KeyListing {
  key_id: string;
  mode: KeyMode;
  name: string | null;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  monthly_cap: number | null;
  /** Its last admitted request, recorded up to a minute late. */
  last_used_at: Date | null;
  /** The network that this request came from, such as 203.0.113.0/24. */
  last_used_address: string | null;
}

/** Lists all keys, revoked ones too, without their secrets. */
export const listKeys = query<[accountId: string], KeyListing>(
  'key_list',
  `select id as key_id, mode, name, created_at, expires_at, revoked_at, monthly_cap, last_used_at,
     last_used_address
   from api_keys left join api_key_uses on api_key_id = id
   where account_id = $1 order by created_at, id`,
);

/** For the admitting statement: the API key's monthly cap; null: none. */
export const CAP_OF_CALLER = {
  columns: 'capped.monthly_cap',
  joins: 'join api_keys capped on capped.id = caller.key_id',
} as const;

/** The current monthly caps of API keys; null: none. */
export const readCaps = query<[keyIds: string[]], { id: string; monthly_cap: number | null }>(
  'key_caps',
  'select id, monthly_cap from api_keys where id = any($1)',
);
