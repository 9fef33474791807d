import { type KeyListing, listKeys } from '../../accounts/api-keys.ts';
import { recentRequests } from '../../accounts/key-usage.ts';
import type { Queryable } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { spentThisMonth } from '../../tasks/create/key-cap.ts';
import type { ApiKey } from './key-shapes.ts';

/** How many days of requests the list shows of each key. */
const DAYS = 30;

/** All keys of an account, the newest first, also those that are revoked. */
export async function readKeys(db: Queryable, accountId: string): Promise<ApiKey[]> {
  const keys = await listKeys(db, accountId);
  const ids = keys.map((key) => key.key_id);
  const [spent, requests] = await Promise.all([
    spentThisMonth(db, ids),
    recentRequests(db, ids, DAYS),
  ]);
  return keys
    .map((key) => ({
      ...shown(key),
      spent_this_month: spent.get(key.key_id) ?? 0,
      requests: (requests.get(key.key_id) ?? []).map((day) => day.requests),
    }))
    .reverse();
}

function shown(key: KeyListing): Omit<ApiKey, 'spent_this_month' | 'requests'> {
  return {
    id: key.key_id,
    mode: key.mode,
    name: key.name,
    created_at: key.created_at.toISOString(),
    expires_at: key.expires_at?.toISOString() ?? null,
    revoked_at: key.revoked_at?.toISOString() ?? null,
    monthly_cap: key.monthly_cap,
    last_used_at: key.last_used_at?.toISOString() ?? null,
    last_used_network: key.last_used_address,
  };
}

/** @throws ApiError `not_found` unless the key belongs to the account */
export async function readKey(db: Queryable, accountId: string, id: string): Promise<ApiKey> {
  const key = (await readKeys(db, accountId)).find((candidate) => candidate.id === id);
  if (!key) throw new ApiError('not_found', 'This account has no API key with this id.');
  return key;
}
