import { type Database, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { type BalanceKey, bringUpToDate } from './lots.ts';

const PAGE = 200;

const DUE = statement(
  'ledger_due',
  `select account_id as "accountId", kind from ledger_balances
   where lots_due_at <= (select clock_now()) order by lots_due_at offset $1 limit ${PAGE}`,
);

/**
 * Takes the rest of expired lots. Several processes may call it at once. Without it, each balance
 * would still be brought up to date before its next reserve.
 * @returns how many balances were brought up to date
 */
export async function bringDueUpToDate(deps: { db: Database; log: Log }): Promise<number> {
  let [done, failed] = [0, 0];
  for (;;) {
    // A failed balance stays due, so skip it: it must not hold up the others.
    const page = await deps.db.query<BalanceKey>(DUE, [failed]);
    if (page.length === 0) return done;
    for (const balance of page) {
      if (await tryUpdate(deps, balance)) done += 1;
      else failed += 1;
    }
  }
}

async function tryUpdate({ db, log }: { db: Database; log: Log }, balance: BalanceKey) {
  try {
    await db.transaction((tx) => bringUpToDate(tx, balance));
    return true;
  } catch (err) {
    const message = 'the lots of a balance were not updated: run the audit if this persists';
    log.warn({ err, account: balance.accountId, kind: balance.kind }, message);
    return false;
  }
}
