import { type Database, statement } from '../database/database.ts';
import { type Report, runCheck } from './audit-pages.ts';

/** Finds one kind of contradiction among the lots with these names; each row is a sentence. */
const CHECKS = [
  statement(
    'audit_lot_available',
    `select l.name || ': the lot has ' || l.available || ' available credits, but its movements '
       || 'add up to ' || m.credits as problem
     from ledger_lots l
     cross join lateral (select coalesce(sum(credits), 0) as credits
       from ledger_lot_movements where lot = l.name) m
     where l.name = any($1) and l.available <> m.credits`,
  ),
  statement(
    'audit_lot_reserved',
    `select l.name || ': the lot has ' || l.reserved || ' reserved credits, but its reservations '
       || 'add up to ' || r.credits as problem
     from ledger_lots l
     cross join lateral (
       select coalesce(-sum(m.credits), 0) as credits from ledger_lot_movements m
       join ledger_transfers t on t.id = m.transfer_id and t.reason = 'reserve'
       join ledger_balances b on b.account_id = t.account_id and b.kind = t.kind
       left join ledger_transfers s on s.reference = 'settle:' || substr(t.reference, 9)
         and s.id <= b.lots_through
       where m.lot = l.name and s.id is null) r
     where l.name = any($1) and l.reserved <> r.credits`,
  ),
];

/** The same for the transfers with ids from above $1 up to $2. */
export const LOT_TRANSFER_CHECKS = [
  statement(
    'audit_lot_refund',
    `select r.reference || ': ' || -taken.credits || ' credits were taken from lots, but '
       || coalesce(given.credits, 0) || ' were refunded to lots' as problem
     from (select transfer_id, sum(credits) as credits from ledger_lot_movements
       where transfer_id > $1 and transfer_id <= $2 group by transfer_id) taken
     join ledger_transfers r on r.id = taken.transfer_id and r.reason = 'reserve'
     join ledger_balances b on b.account_id = r.account_id and b.kind = r.kind
     join ledger_transfers s on s.reference = 'settle:' || substr(r.reference, 9)
       and s.reason = 'refund' and s.id <= b.lots_through
     left join lateral (select sum(credits) as credits from ledger_lot_movements
       where transfer_id = s.id) given on true
     where coalesce(given.credits, 0) <> -taken.credits`,
  ),
  statement(
    'audit_lot_grant',
    `select t.reference || ': these credits expire, but they are not in a lot' as problem
     from ledger_transfers t
     join ledger_balances b on b.account_id = t.account_id and b.kind = t.kind
     left join ledger_lots l on l.name = t.reference and l.grant_id = t.id
       and l.expires_at = t.expires_at
     left join ledger_lot_movements m on m.transfer_id = t.id and m.lot = l.name
     where t.id > $1 and t.id <= $2 and t.expires_at is not null
       and (t.id <= b.lots_through or b.lots_due_at is null)
       and m.credits is distinct from t.credits`,
  ),
  statement(
    'audit_lot_movement',
    `select t.reference || ': a transfer of ' || t.credits || ' credits from ' || t.source || ' to '
       || t.target || ' must not change lots by ' || sum(m.credits) as problem
     from ledger_lot_movements m
     join ledger_transfers t on t.id = m.transfer_id join ledger_lots l on l.name = m.lot
     where m.transfer_id > $1 and m.transfer_id <= $2
     group by t.id
     having abs(sum(m.credits)) > t.credits
       or bool_or(m.credits > 0) and t.target <> 'available'
       or bool_or(m.credits < 0) and t.source <> 'available'
       or t.reason = 'expire' and sum(m.credits) <> -t.credits
       or bool_or((l.account_id, l.kind) <> (t.account_id, t.kind))`,
  ),
];

/** The same for the balances in the JSON array $1. */
export const LOT_BALANCE_CHECK = statement(
  'audit_lot_balance',
  `select b.account_id || ': lots have ' || sum(l.available) || ' available ' || b.kind
     || ' credits, but the balance has ' || b.available as problem
   from jsonb_to_recordset($1) as p(account_id text, kind text)
   join ledger_balances b on b.account_id = p.account_id and b.kind = p.kind
   join ledger_lots l on l.account_id = b.account_id and l.kind = b.kind
   where not exists (select from ledger_transfers t
     where t.account_id = b.account_id and t.kind = b.kind and t.id > b.lots_through)
   group by b.account_id, b.kind having sum(l.available) > b.available`,
);

const PAGE = statement(
  'audit_lot_page',
  'select name from ledger_lots where name > $1 order by name limit $2',
);

/**
 * Checks that the movements of each lot add up to its available and reserved credits. The other
 * rules of lots are about a transfer (what a reserve took from lots came back with its refund; each
 * grant that expires has its lot; no movement is larger than its transfer) or about a balance, and
 * are checked with these. All of them cover what the lots contain so far (`lots_through`).
 */
export async function auditLots(
  db: Pick<Database, 'snapshot'>,
  pageSize: number,
  report: Report,
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await db.snapshot(async (tx) => {
      const lots = await tx.query<{ name: string }>(PAGE, [after, pageSize]);
      const names = lots.map(({ name }) => name);
      for (const check of CHECKS) await runCheck(tx, check, { values: [names], report });
      return names;
    });
    if (page.length < pageSize) return;
    after = page.at(-1) ?? after;
  }
}
