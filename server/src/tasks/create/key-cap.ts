import { type Queryable, statement, type Transaction } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';

/** The API key that a create was sent with. */
export interface CreatingKey {
  id: string;
  /** Whether it had a monthly spending cap when the request was admitted. */
  hasCap: boolean;
}

// A task counts in the month in which it was created, also if it is refunded later. A failed task
// is always refunded in full.
const SPENT = `select credits from tasks
     where api_key_id = k.id and created_at >= (select date_trunc('month', clock_now(), 'UTC'))
       and phase <> 'failed'
   union all
   select credits from archived_tasks
     where api_key_id = k.id and created_at >= (select date_trunc('month', clock_now(), 'UTC'))
       and phase = 'completed'`;

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

const LOCK = statement(
  'key_cap_lock',
  'select monthly_cap from api_keys where id = $1 for no key update',
);

/**
 * Refuses a task that would take its API key over the monthly cap that the key has now. The key's
 * row stays locked until the transaction ends: so creates of one key are decided one after the
 * other, and each sees the tasks of those before it.
 * @throws ApiError `insufficient_credits`
 */
export async function requireBelowCap(
  tx: Transaction,
  keyId: string,
  credits: number,
): Promise<void> {
  const [key] = await tx.query<{ monthly_cap: number | null }>(LOCK, [keyId]);
  const cap = key?.monthly_cap ?? null;
  if (cap === null) return;
  // A statement of its own: it must see what was committed while this one waited for the lock.
  const used = (await spentThisMonth(tx, [keyId])).get(keyId) ?? 0;
  if (used + credits <= cap) return;
  const message = 'This request would exceed the monthly spending cap of this API key.';
  throw new ApiError('insufficient_credits', message, {
    details: { reason: 'key_cap', required_credits: credits, monthly_cap: cap, used },
  });
}
