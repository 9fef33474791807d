import { type Database, namedStatement } from '../../database/database.ts';
import type { BalanceKind, Reason } from '../transfer.ts';
import type { Movement } from './account-statement.ts';

/** A transfer in a list of the newest, with its number, by which the list continues. */
export interface PagedMovement extends Omit<Movement, 'reserved_after' | 'debt_after'> {
  id: number;
}

// Each kind has an order of its own in the index.
const READ = namedStatement(
  'ledger_movement_page',
  ['accountId', 'kinds', 'reasons', 'from', 'until', 'before', 'limit'],
  `select t.id, t.created_at as at, t.kind, t.reason, t.credits, t.source as "from",
     t.target as "to", case when t.reason in ('reserve', 'capture', 'refund')
       then split_part(t.reference, ':', 2) end as task_id,
     t.reference, t.note, t.expires_at, t.available_after
   from unnest(:kinds::text[]) as wanted (kind), lateral (
     select id, created_at, kind, reason, credits, source, target, reference, note, expires_at,
       available_after
     from ledger_transfers
     where account_id = :accountId and kind = wanted.kind
       and id < coalesce(:before::bigint, 9223372036854775807)
       and (:reasons::text[] is null or reason = any(:reasons))
       and (:from::timestamptz is null or created_at >= :from)
       and (:until::timestamptz is null or created_at < :until)
     order by id desc limit :limit) t
   order by t.id desc limit :limit`,
);

/** A page of the movements of an account, the newest first. */
export function movementPage(
  db: Database,
  accountId: string,
  wanted: {
    kinds: readonly BalanceKind[];
    /** null: all. */
    reasons: readonly Reason[] | null;
    /** Included, and not included. */
    from: Date | null;
    until: Date | null;
    /** The movements with a lower number; null: from the newest on. */
    before: number | null;
    limit: number;
  },
): Promise<PagedMovement[]> {
  return db.query<PagedMovement>(READ, READ.values({ ...wanted, accountId }));
}
