import { listKeys } from '../../accounts/api-keys.ts';
import { recentRequests } from '../../accounts/key-usage.ts';
import type { Queryable } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { spentThisMonth } from '../../tasks/create/key-cap.ts';
import type { AsJson } from '../route.ts';

/** How many days of requests the list shows of each key. */
const DAYS = 30;

/** An API key as its owner sees it, without its secret. */
export type ApiKey = AsJson<OwnKey>;
type OwnKey = Awaited<ReturnType<typeof readKeys>>[number];

/** All keys of an account, the newest first, also those that are revoked. */
export async function readKeys(db: Queryable, accountId: string) {
  const keys = await listKeys(db, accountId);
  const ids = keys.map((key) => key.key_id);
  const [spent, requests] = await Promise.all([
    spentThisMonth(db, ids),
    recentRequests(db, ids, DAYS),
  ]);
  return keys
    .map(({ key_id: id, last_used_address: last_used_network, ...key }) => ({
      id,
      ...key,
      last_used_network,
      // What its tasks of this month cost, without those refunded.
      spent_this_month: spent.get(id) ?? 0,
      // On each of the last days, the oldest first; the last one is today (UTC).
      requests: (requests.get(id) ?? []).map((day) => day.requests),
    }))
    .reverse();
}

/** @throws ApiError `not_found` unless the key belongs to the account */
export async function readKey(db: Queryable, accountId: string, id: string): Promise<OwnKey> {
  const key = (await readKeys(db, accountId)).find((candidate) => candidate.id === id);
  if (!key) throw new ApiError('not_found', 'This account has no API key with this id.');
  return key;
}
