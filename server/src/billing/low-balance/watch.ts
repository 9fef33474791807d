import { joinAccount } from '../../accounts/account-sql.ts';
import {
  command,
  type Database,
  query,
  type Transaction,
  whether,
} from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import { paidBalances } from '../../ledger/payments.ts';
import { mailOwner } from '../../mail/outbox.ts';
import { recordEvent } from '../../webhooks/events.ts';
import { settleOrder } from '../settle-order.ts';
import type { BillingDeps } from '../stripe-client.ts';
import { orderReload } from './reload.ts';

/** Without `billing`, nothing is for sale: only mails are written. */
export interface WatchDeps {
  db: Database;
  log: Log;
  publicUrl: () => string;
  billing: BillingDeps | undefined;
}

const PAGE = 500;

interface Watched {
  account_id: string;
  alert_below: number | null;
  is_alerted: boolean;
  reload_below: number | null;
  reload_stopped: string | null;
}

const watchedAfter = query<[after: string], Watched>(
  'low_balance_watched',
  `select b.account_id, b.alert_below, b.alerted_at is not null as is_alerted,
     b.reload_below, b.reload_stopped
   from billing_accounts b ${joinAccount('b.account_id')}
   where b.account_id > $1 and (b.alert_below is not null or b.reload_pack is not null)
     and a.disabled_at is null
   order by b.account_id limit ${PAGE}`,
);

/** Buys one pack for each account that runs low, however many processes run this. */
export function reloadBalances(deps: WatchDeps, billing: BillingDeps): Promise<void> {
  return forEachWatched(deps, async (watched, available) => {
    const { account_id: accountId, reload_below: below, reload_stopped: stopped } = watched;
    if (below === null || stopped !== null || available >= below) return;
    const order = await orderReload(billing, accountId);
    if (order !== undefined) await settleOrder(billing, order);
  });
}

/** Writes low-balance mails and events, once per shortage, however many processes run it. */
export function mailBalances(deps: WatchDeps): Promise<void> {
  return forEachWatched(deps, async (watched, available) => {
    const { account_id: accountId, alert_below: alertBelow } = watched;
    const isLow = alertBelow !== null && available < alertBelow;
    if (!isLow && watched.is_alerted) await rearm(deps.db, accountId);
    if (!isLow || watched.is_alerted) return;
    await deps.db.transaction(async (tx) => {
      if (!(await recordAlert(tx, accountId))) return; // another process did it
      await mailOwner(tx, { accountId, ...lowBalanceMail(deps, available) });
      const data = { available_credits: available, below_credits: alertBelow };
      await recordEvent(tx, { accountId, type: 'credits.low', data });
    });
  });
}

async function forEachWatched(
  { db, log }: WatchDeps,
  handle: (watched: Watched, available: number) => Promise<void>,
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await watchedAfter(db, after);
    const rows = await paidBalances(
      db,
      page.map((row) => row.account_id),
    );
    const balances = new Map(rows.map((row) => [row.account_id, row.available]));
    for (const watched of page) {
      const available = balances.get(watched.account_id) ?? 0;
      await handle(watched, available).catch((err: unknown) => {
        log.warn({ err, account: watched.account_id }, 'could not handle a low balance');
      });
    }
    if (page.length < PAGE) return;
    after = page.at(-1)?.account_id ?? after;
  }
}

// The next shortage gets a mail and an event again.
const rearm = command<[accountId: string]>(
  'low_balance_rearm',
  'update billing_accounts set alerted_at = null where account_id = $1',
);

const recordAlert = whether<[accountId: string], Transaction>(
  'low_balance_alert_written',
  `update billing_accounts set alerted_at = clock_now()
   where account_id = $1 and alerted_at is null and alert_below is not null returning account_id`,
);

function lowBalanceMail({ publicUrl }: WatchDeps, available: number) {
  return {
    subject: `Your balance is low: ${available} credits`,
    text:
      `Your account has ${available} paid credits left. Requests that cost more are refused.\n\n` +
      `Buy credits, or change when this mail is sent:\n${publicUrl()}/credits\n`,
  };
}
