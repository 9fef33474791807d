import { type Queryable, statement } from '../database/database.ts';

/** Each statement finds one kind of contradiction; each row is one sentence about one of them. */
const CHECKS = [
  statement(
    'audit_lot_available',
    `select l.name || ': the lot has ' || l.available || ' available credits, but its movements '
       || 'add up to ' || coalesce(m.credits, 0) as problem
     from ledger_lots l
     left join (select lot, sum(credits) as credits from ledger_lot_movements group by lot) m
       on m.lot = l.name
     where l.available <> coalesce(m.credits, 0)`,
  ),
  statement(
    'audit_lot_reserved',
    `select l.name || ': the lot has ' || l.reserved || ' reserved credits, but its reservations '
       || 'add up to ' || coalesce(r.credits, 0) as problem
     from ledger_lots l
     left join (
       select m.lot, -sum(m.credits) as credits from ledger_lot_movements m
       join ledger_transfers t on t.id = m.transfer_id and t.reason = 'reserve'
       join ledger_balances b on b.account_id = t.account_id and b.kind = t.kind
       left join ledger_transfers s on s.reference = 'settle:' || substr(t.reference, 9)
         and s.id <= b.lots_through
       where s.id is null group by m.lot) r on r.lot = l.name
     where l.reserved <> coalesce(r.credits, 0)`,
  ),
  statement(
    'audit_lot_refund',
    `select r.reference || ': ' || -taken.credits || ' credits were taken from lots, but '
       || coalesce(given.credits, 0) || ' were refunded to lots' as problem
     from (select transfer_id, sum(credits) as credits from ledger_lot_movements
       group by transfer_id) taken
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
     from ledger_balances b
     join ledger_transfers t on t.account_id = b.account_id and t.kind = b.kind
       and t.expires_at is not null and (t.id <= b.lots_through or b.lots_due_at is null)
     left join ledger_lots l on l.name = t.reference and l.grant_id = t.id
       and l.expires_at = t.expires_at
     left join ledger_lot_movements m on m.transfer_id = t.id and m.lot = l.name
     where m.credits is distinct from t.credits`,
  ),
  statement(
    'audit_lot_movement',
    `select t.reference || ': a transfer of ' || t.credits || ' credits from ' || t.source || ' to '
       || t.target || ' must not change lots by ' || sum(m.credits) as problem
     from ledger_lot_movements m
     join ledger_transfers t on t.id = m.transfer_id join ledger_lots l on l.name = m.lot
     group by t.id
     having abs(sum(m.credits)) > t.credits
       or bool_or(m.credits > 0) and t.target <> 'available'
       or bool_or(m.credits < 0) and t.source <> 'available'
       or t.reason = 'expire' and sum(m.credits) <> -t.credits
       or bool_or((l.account_id, l.kind) <> (t.account_id, t.kind))`,
  ),
  statement(
    'audit_lot_balance',
    `select b.account_id || ': lots have ' || sum(l.available) || ' available ' || b.kind
       || ' credits, but the balance has ' || b.available as problem
     from ledger_balances b
     join ledger_lots l on l.account_id = b.account_id and l.kind = b.kind
     where not exists (select from ledger_transfers t
       where t.account_id = b.account_id and t.kind = b.kind and t.id > b.lots_through)
     group by b.account_id, b.kind having sum(l.available) > b.available`,
  ),
];

/**
 * Checks the lots within the caller's snapshot, as far as they contain the transfers: the movements
 * of a lot add up to its available and reserved credits; what a reserve took from lots came back
 * with its refund; each grant that expires has its lot; no movement is larger than its transfer.
 * @returns one sentence per problem; an empty array if there is no problem
 */
export async function auditLots(tx: Queryable): Promise<string[]> {
  const problems: string[] = [];
  for (const check of CHECKS) {
    const rows = await tx.query<{ problem: string }>(check);
    problems.push(...rows.map((row) => row.problem));
  }
  return problems;
}
