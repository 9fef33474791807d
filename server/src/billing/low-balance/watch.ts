import { type Database, statement } from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import { paidBalances } from '../../ledger/payments.ts';
import type { SendMail } from '../../mail/mailer.ts';
import { settleOrder } from '../settle-order.ts';
import type { BillingDeps } from '../stripe-client.ts';
import { orderReload } from './reload.ts';

/** Without `billing`, nothing can be bought: only mails are sent. */
export interface WatchDeps {
  db: Database;
  log: Log;
  sendMail: SendMail;
  publicUrl: () => string;
  billing: BillingDeps | undefined;
}

const PAGE = 500;

const WATCHED = statement(
  'low_balance_watched',
  `select b.account_id, a.email, b.alert_below, b.alerted_at is not null as is_alerted,
     b.reload_below, b.reload_stopped, b.reload_stop_told_at is not null as is_told
   from billing_accounts b join accounts a on a.id = b.account_id
   where b.account_id > $1 and (b.alert_below is not null or b.reload_pack is not null)
     and a.disabled_at is null
   order by b.account_id limit ${PAGE}`,
);

interface Watched {
  account_id: string;
  email: string;
  alert_below: number | null;
  is_alerted: boolean;
  reload_below: number | null;
  reload_stopped: string | null;
  is_told: boolean;
}

/**
 * Looks at the balances of the accounts that asked for a mail or a purchase when credits run low.
 * Several processes may do so at once: a mail is sent once per shortage, or twice if a process dies
 * meanwhile, and one pack is bought.
 */
export async function watchBalances(deps: WatchDeps): Promise<void> {
  for (let after = ''; ; ) {
    const page = await deps.db.query<Watched>(WATCHED, [after]);
    const rows = await paidBalances(
      deps.db,
      page.map((row) => row.account_id),
    );
    const balances = new Map(rows.map((row) => [row.account_id, row.available]));
    for (const watched of page) {
      const available = balances.get(watched.account_id) ?? 0;
      await look(deps, watched, available).catch((err: unknown) => {
        deps.log.warn({ err, account: watched.account_id }, 'a low balance was not handled');
      });
    }
    if (page.length < PAGE) return;
    after = page.at(-1)?.account_id ?? after;
  }
}

async function look(deps: WatchDeps, watched: Watched, available: number): Promise<void> {
  const { account_id: accountId, alert_below: alertBelow, reload_below: reloadBelow } = watched;
  if (alertBelow !== null && available >= alertBelow && watched.is_alerted) {
    await deps.db.query(REARM, [accountId]);
  }
  if (alertBelow !== null && available < alertBelow && !watched.is_alerted) {
    await mailOnce(deps, watched, ALERT, lowBalanceMail(deps, available));
  }
  if (watched.reload_stopped !== null && !watched.is_told) {
    await mailOnce(deps, watched, STOP_TOLD, stoppedMail(deps, watched.reload_stopped));
  }
  const mayReload = reloadBelow !== null && watched.reload_stopped === null;
  if (!deps.billing || !mayReload || available >= reloadBelow) return;
  const order = await orderReload(deps.db, accountId);
  if (order !== undefined) await settleOrder(deps.billing, order);
}

// The available credits are above the limit again: the next shortage gets a mail of its own.
const REARM = statement(
  'low_balance_rearm',
  'update billing_accounts set alerted_at = null where account_id = $1',
);

const ALERT = mailStatements('low_balance', 'alerted_at', 'alert_below is not null');
const STOP_TOLD = mailStatements(
  'reload_stop',
  'reload_stop_told_at',
  'reload_stopped is not null',
);

// A claim ends after five minutes: its process has died then, since a mail takes two at most.
function mailStatements(name: string, sentAt: string, isDue: string) {
  return {
    claim: statement(
      `${name}_claim`,
      `update billing_accounts set mail_claimed_at = clock_now()
       where account_id = $1 and ${sentAt} is null and ${isDue}
         and coalesce(mail_claimed_at, '-infinity') < clock_now() - interval '5 minutes'
       returning mail_claimed_at::text as claim`,
    ),
    sent: statement(
      `${name}_sent`,
      `update billing_accounts set ${sentAt} = clock_now(), mail_claimed_at = null
       where account_id = $1 and mail_claimed_at = $2::timestamptz`,
    ),
  };
}

const RELEASE = statement(
  'low_balance_release',
  `update billing_accounts set mail_claimed_at = null
   where account_id = $1 and mail_claimed_at = $2::timestamptz`,
);

/**
 * Claims a mail, so that no other process sends it too, and notes that it was sent. If the process
 * dies in between, it is sent again: twice at the worst, and never not at all.
 */
async function mailOnce(
  { db, sendMail }: WatchDeps,
  { account_id: accountId, email }: Watched,
  { claim, sent }: typeof ALERT,
  mail: { subject: string; text: string },
): Promise<void> {
  const [claimed] = await db.query<{ claim: string }>(claim, [accountId]);
  if (!claimed) return;
  const isSent = await sendMail({ to: email, ...mail });
  await db.query(isSent ? sent : RELEASE, [accountId, claimed.claim]);
}

function lowBalanceMail({ publicUrl }: WatchDeps, available: number) {
  return {
    subject: `Your balance is low: ${available} credits`,
    text:
      `Your account has ${available} paid credits left. Requests that cost more are refused.\n\n` +
      `Buy credits, or change when this mail is sent:\n${publicUrl()}/credits\n`,
  };
}

function stoppedMail({ publicUrl }: WatchDeps, why: string) {
  return {
    subject: 'Auto-reload is stopped',
    text:
      `No more credits are bought automatically for your account: ${why}.\n\n` +
      `Check your card and switch auto-reload on again:\n${publicUrl()}/credits\n`,
  };
}
