import { type Database, type Queryable, query, statement } from '../database/database.ts';
import { auditBalances } from './audit-balances.ts';
import { checkPages, checkTransferPages, type Report, runCheck } from './audit-pages.ts';
import type { BalanceKind } from './transfer.ts';

/** Page sizes, small enough for short snapshots. */
export const LEDGER_SIZES = {
  balances: 200,
  /** How many transfers of one balance are added up at a time. */
  chunk: 2000,
  transfers: 10_000,
  lots: 200,
};

export type AuditSizes = typeof LEDGER_SIZES;

/**
 * Each finds one kind of contradiction among the transfers of a page; each row is a sentence.
 * `substr` cuts off `reserve:` (from 9) or `settle:` (from 8).
 */
const CHECKS = [
  statement(
    'audit_wrong_direction',
    `select reference || ': ' || reason || ' must not move ' || kind || ' credits from ' || source
       || ' to ' || target as problem
     from ledger_transfers
     where id > $1 and id <= $2 and ((reason, source, target) not in (
         ('grant', 'granted', 'available'),
         ('adjust', 'granted', 'available'), ('adjust', 'available', 'granted'),
         ('reserve', 'available', 'reserved'),
         ('capture', 'reserved', 'spent'), ('refund', 'reserved', 'available'),
         ('expire', 'available', 'granted'), ('repay', 'available', 'debt'),
         ('clawback', 'available', 'granted'), ('clawback', 'debt', 'granted'))
       or (reason in ('reserve', 'capture', 'refund')
         and ((kind = 'promotional') <> (reference like '%:promotional')
           or (kind = 'test') <> (reference like '%:test'))))`,
  ),
  statement(
    'audit_wrong_settlement',
    `select substr(r.reference, 9) || ': settled with another account, kind or amount than reserved'
       as problem
     from ledger_transfers r
     join ledger_transfers s on s.reference = 'settle:' || substr(r.reference, 9)
     where r.id > $1 and r.id <= $2 and r.reason = 'reserve'
       and (s.account_id, s.kind, s.credits) <> (r.account_id, r.kind, r.credits)`,
  ),
  statement(
    'audit_without_reservation',
    `select s.reference || ': settled without a reservation' as problem from ledger_transfers s
     where s.id > $1 and s.id <= $2 and s.reference like 'settle:%'
       and not exists (select from ledger_transfers r
         where r.reference = 'reserve:' || substr(s.reference, 8) and r.reason = 'reserve')`,
  ),
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

/** Each finds one kind of contradiction among the lots with these names. */
const LOT_CHECKS = [
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

const LOT_PAGE = statement(
  'audit_lot_page',
  'select name from ledger_lots where name > $1 order by name limit $2',
);

/** Checks the lots. They contain the transfers up to `lots_through`: the rules cover only those. */
async function auditLots(
  db: Pick<Database, 'snapshot'>,
  pageSize: number,
  report: Report,
): Promise<void> {
  await checkPages(db, pageSize, async (tx, after) => {
    const lots = await tx.query<{ name: string }>(LOT_PAGE, [after, pageSize]);
    const names = lots.map(({ name }) => name);
    for (const check of LOT_CHECKS) await runCheck(tx, check, { values: [names], report });
    return names;
  });
}

const RESERVED_TASKS = statement(
  'audit_reserved_tasks',
  `select distinct split_part(reference, ':', 2) as task_id from ledger_transfers
   where id > $1 and id <= $2 and reason = 'reserve'`,
);

/**
 * Checks that transfers add up to each balance, and to the balances stored with them; that each
 * transfer has the source and target of its reason; that each settlement has the account, kind and
 * amount of its reservation; and the rules of lots. Reads pages, each in a short snapshot of its
 * own (decisions/0014).
 */
export async function auditLedger(
  db: Pick<Database, 'snapshot'>,
  options: {
    report: Report;
    /** Receives the tasks that credits were reserved for, page by page. */
    checkReserved?: (tx: Queryable, taskIds: string[]) => Promise<void>;
    sizes?: AuditSizes;
  },
): Promise<void> {
  const { report, checkReserved = async () => {}, sizes = LEDGER_SIZES } = options;
  await auditBalances(db, sizes, report);
  await auditLots(db, sizes.lots, report);
  await checkTransferPages(db, sizes.transfers, async (tx, range) => {
    for (const check of CHECKS) await runCheck(tx, check, { values: range, report });
    const tasks = await tx.query<{ task_id: string }>(RESERVED_TASKS, range);
    await checkReserved(
      tx,
      tasks.map((row) => row.task_id),
    );
  });
}

/** The credits of one kind reserved for a task, and how they were settled; null: not yet. */
export interface AuditedReservation {
  task_id: string;
  account_id: string;
  kind: BalanceKind;
  credits: number;
  outcome: string | null;
}

export const auditedReservations = query<[taskIds: string[]], AuditedReservation>(
  'audit_reservations',
  `select task_id, r.account_id, r.kind, r.credits, s.reason as outcome
   from unnest($1::text[]) as wanted (task_id)
   cross join (values (''), (':promotional'), (':test')) as part (suffix)
   join ledger_transfers r on r.reference = 'reserve:' || task_id || suffix
     and r.reason = 'reserve'
   left join ledger_transfers s on s.reference = 'settle:' || task_id || suffix`,
);
