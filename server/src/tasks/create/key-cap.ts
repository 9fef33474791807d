import { readCaps } from '../../accounts/api-keys.ts';
import { type Queryable, statement, type Transaction, together } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { CheckedRequest } from './new-task.ts';

// A refund counts in the month in which its task was created. A failed task is refunded in full.
const SPENT_THIS_MONTH = statement(
  'key_spent_this_month',
  `select k.id, (select coalesce(sum(credits), 0)::int8 from tasks
       where api_key_id = k.id and phase <> 'failed'
         and created_at >= (select date_trunc('month', clock_now(), 'UTC'))) as credits
   from unnest($1::text[]) as k (id)`,
);

/** What each API key spent this calendar month (UTC): reserves minus refunds. */
export async function spentThisMonth(
  db: Queryable,
  keyIds: string[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; credits: number }>(SPENT_THIS_MONTH, [keyIds]);
  return new Map(rows.map(({ id, credits }) => [id, credits]));
}

/**
 * Call it once the balances are locked, so that creates with one API key are decided one after the
 * other (decisions/0028).
 */
export async function readSpending(tx: Transaction, creates: CheckedRequest[]) {
  const ids = creates.flatMap(({ binding: { apiKey } }) => (apiKey?.hasCap ? [apiKey.id] : []));
  if (ids.length === 0) return { spendOrRefuse: () => undefined };
  const [caps, spent] = await together(readCaps(tx, ids), spentThisMonth(tx, [...new Set(ids)]));
  return {
    /** Counts a create as spent, or returns the error if it would exceed its key's cap. */
    spendOrRefuse({ binding, price: { credits } }: CheckedRequest): ApiError | undefined {
      const { id = '' } = binding.apiKey ?? {};
      const cap = caps.find((key) => key.id === id)?.monthly_cap ?? null;
      const used = spent.get(id) ?? 0;
      if (cap === null || used + credits <= cap) {
        spent.set(id, used + credits);
        return undefined;
      }
      const message = 'This request would exceed the monthly spending cap of this API key.';
      return new ApiError('insufficient_credits', message, {
        details: { reason: 'key_cap', required_credits: credits, monthly_cap: cap, used },
      });
    },
  };
}
