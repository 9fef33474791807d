import { type Queryable, statement, type Transaction } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { fromEveryPlace } from '../archive/every-task.ts';

/** The API key that a create was sent with. */
export interface CreatingKey {
  id: string;
  /**
   * Locks the key until the transaction ends, and reads its monthly spending cap. undefined: it had
   * none when the request was admitted.
   */
  lockCap?: ((tx: Transaction) => Promise<number | null>) | undefined;
}

// A task counts in the month in which it was created, also if it is refunded later. A failed task
// is always refunded in full.
const SPENT = fromEveryPlace(
  ({ table, key }) => `select credits from ${table}
     where ${key}.api_key_id = k.id and phase <> 'failed'
       and ${key}.created_at >= (select date_trunc('month', clock_now(), 'UTC'))`,
);

const SPENT_THIS_MONTH = statement(
  'key_spent_this_month',
  `select k.id, (select coalesce(sum(credits), 0)::int8 from (${SPENT}) spent) as credits
   from unnest($1::text[]) as k (id)`,
);

/** The credits of this calendar month (UTC) of each of these keys: reserves minus refunds. */
export async function spentThisMonth(
  db: Queryable,
  keyIds: string[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; credits: number }>(SPENT_THIS_MONTH, [keyIds]);
  return new Map(rows.map(({ id, credits }) => [id, credits]));
}

/**
 * Refuses a task that would take its API key over the monthly cap that the key has now. The key's
 * row stays locked until the transaction ends: so creates of one key are decided one after the
 * other, and each sees the tasks of those before it.
 * @throws ApiError `insufficient_credits`
 */
export async function requireBelowCap(
  tx: Transaction,
  { id: keyId, lockCap }: CreatingKey,
  credits: number,
): Promise<void> {
  const cap = (await lockCap?.(tx)) ?? null;
  if (cap === null) return;
  // A statement of its own: it must see what was committed while this one waited for the lock.
  const used = (await spentThisMonth(tx, [keyId])).get(keyId) ?? 0;
  if (used + credits <= cap) return;
  const message = 'This request would exceed the monthly spending cap of this API key.';
  throw new ApiError('insufficient_credits', message, {
    details: { reason: 'key_cap', required_credits: credits, monthly_cap: cap, used },
  });
}
