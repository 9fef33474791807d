import { type Database, type Queryable, query, statement } from '../database/database.ts';
import { auditBalances } from './audit-balances.ts';
import { auditLots, LOT_TRANSFER_CHECKS } from './audit-lots.ts';
import { type Report, runCheck, transferPage } from './audit-pages.ts';
import type { BalanceKind } from './transfer.ts';

/** How much an audit reads at a time, to keep snapshots and row lists small. */
export const LEDGER_SIZES = {
  /** Balances per page. */
  balances: 200,
  /** Transfers per balance of a page. */
  chunk: 2000,
  /** Transfers per page, checked one by one. */
  transfers: 10_000,
  /** Lots per page. */
  lots: 200,
};

export type AuditSizes = typeof LEDGER_SIZES;

/** Each finds one kind of contradiction among the transfers of a page; each row is a sentence. */
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
  ...LOT_TRANSFER_CHECKS,
];

const RESERVED_TASKS = statement(
  'audit_reserved_tasks',
  `select distinct split_part(reference, ':', 2) as task_id from ledger_transfers
   where id > $1 and id <= $2 and reason = 'reserve'`,
);

/**
 * Checks the ledger: the transfers add up to every balance; the balances stored with each transfer
 * result from it and the earlier transfers; each transfer has the source and target of its reason;
 * each settlement has the account, kind and amount of its reservation; and the rules of lots
 * ({@link auditLots}). Reads pages, each in a short snapshot of its own (decisions/0014).
 */
export async function auditLedger(
  db: Pick<Database, 'snapshot'>,
  options: {
    /** Receives one sentence per problem. */
    report: Report;
    /** Receives the tasks that credits were reserved for, page by page. */
    checkReserved?: (tx: Queryable, taskIds: string[]) => Promise<void>;
    sizes?: AuditSizes;
  },
): Promise<void> {
  const { report, checkReserved = async () => {}, sizes = LEDGER_SIZES } = options;
  await auditBalances(db, sizes, report);
  await auditLots(db, sizes.lots, report);
  for (let after: number | null = 0; after !== null; ) {
    const begin: number = after;
    after = await db.snapshot(async (tx) => {
      const { through, next } = await transferPage(tx, begin, sizes.transfers);
      const range = [begin, through];
      for (const check of CHECKS) await runCheck(tx, check, { values: range, report });
      const tasks = await tx.query<{ task_id: string }>(RESERVED_TASKS, range);
      await checkReserved(
        tx,
        tasks.map((row) => row.task_id),
      );
      return next;
    });
  }
}

/** The credits of one kind reserved for a task, and how they were settled; null: not yet. */
export interface AuditedReservation {
  task_id: string;
  account_id: string;
  kind: BalanceKind;
  credits: number;
  outcome: string | null;
}

/** The reservations of these tasks: one for each kind of credits that was reserved. */
export const auditedReservations = query<[taskIds: string[]], AuditedReservation>(
  'audit_reservations',
  `select task_id, r.account_id, r.kind, r.credits, s.reason as outcome
   from unnest($1::text[]) as wanted (task_id)
   cross join (values (''), (':promotional'), (':test')) as part (suffix)
   join ledger_transfers r on r.reference = 'reserve:' || task_id || suffix
     and r.reason = 'reserve'
   left join ledger_transfers s on s.reference = 'settle:' || task_id || suffix`,
);
