import { type Statement, statement } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import { mailBalances, reloadBalances, type WatchDeps } from './low-balance/watch.ts';
import { lookForPayment } from './payment-looks.ts';
import { inScope } from './scope.ts';
import { settleOrder } from './settle-order.ts';
import { type BillingDeps, isMissing } from './stripe-client.ts';
import { settleSubscription } from './subscription/settle-subscription.ts';

/** How many orders a process settles at a time. */
const BATCH = 8;

// The next process that looks finds them later, so that each is settled by one.
function claimIn(table: 'orders' | 'subscriptions') {
  return statement(
    `${table}_claim`,
    `update ${table} set due_at = clock_now() + interval '2 minutes'
     where id = any(array(select id from ${table} where due_at <= (select clock_now())
       and ${inScope(table, '$1', '$2')}
       order by due_at limit ${BATCH} for update skip locked)) returning id`,
  );
}

const CLAIM_LOOKS = statement(
  'payment_look_claim',
  `update payment_looks set due_at = clock_now() + interval '2 minutes'
   where stripe_id = any(array(select stripe_id from payment_looks
     where due_at <= (select clock_now()) order by due_at limit ${BATCH} for update skip locked))
   returning stripe_id as id`,
);

// What Stripe does not have, such as deleted test data. Another key of Stripe may find it.
function postponeIn(table: string) {
  return statement(
    `${table}_postpone`,
    `update ${table} set due_at = case when created_at > clock_now() - interval '180 days'
       then clock_now() + interval '1 day' end where id = $1`,
  );
}

interface Work {
  claim: Statement;
  /** Of the claim; undefined: the mode and account. */
  values?: unknown[];
  /** For what Stripe does not have. */
  postpone?: Statement;
  settle: (deps: BillingDeps, id: string) => Promise<unknown>;
}

const WORK: readonly Work[] = [
  {
    claim: claimIn('subscriptions'),
    postpone: postponeIn('subscriptions'),
    settle: settleSubscription,
  },
  { claim: claimIn('orders'), postpone: postponeIn('orders'), settle: settleOrder },
  { claim: CLAIM_LOOKS, values: [], settle: lookForPayment },
];

/**
 * Settles the subscriptions and orders that are due: those that an event has woken, those whose
 * event may be lost, and those of a payment that an operator asked about. Several processes may do
 * so at once. What fails is due again after two minutes.
 * @returns how many were settled
 */
export async function settleDue(deps: BillingDeps): Promise<number> {
  const { mode, account } = deps.scope;
  const own = [mode, account];
  let settled = 0;
  for (const { values = own, ...work } of WORK) settled += await settleAll(deps, work, values);
  return settled;
}

async function settleAll(
  deps: BillingDeps,
  { claim, postpone, settle }: Omit<Work, 'values'>,
  values: unknown[],
): Promise<number> {
  for (let settled = 0; ; ) {
    const rows = await deps.db.query<{ id: string }>(claim, values);
    const done = await Promise.all(
      rows.map(({ id }) =>
        settle(deps, id).then(
          () => 1,
          async (err: unknown) => {
            if (postpone && isMissing(err)) await deps.db.query(postpone, [id]);
            deps.log.warn({ err, id }, 'Stripe could not be asked; it is asked again');
            return 0;
          },
        ),
      ),
    );
    settled += done.reduce<number>((sum, one) => sum + one, 0);
    if (rows.length < BATCH) return settled;
  }
}

const FORGET = [
  statement(
    'event_forget',
    `delete from stripe_events where id = any(array(select id from stripe_events
       where received_at < (select clock_now()) - interval '30 days' limit 1000))`,
  ),
  statement(
    'payment_look_forget',
    `delete from payment_looks where asked_at < (select clock_now()) - interval '30 days'`,
  ),
];

/** Deletes events that Stripe does not send again any more, and what was asked a month ago. */
async function forgetEvents({ db }: Pick<BillingDeps, 'db'>): Promise<void> {
  for (const forget of FORGET) await db.query(forget);
}

const SETTLE_SECONDS = 2;
const WATCH_SECONDS = 10;
const FORGET_SECONDS = 3600;

/** Starts the periodic work of billing in a worker, until the signal aborts. */
export function startBillingJobs(deps: WatchDeps & { signal: AbortSignal }): void {
  const { billing, log, signal } = deps;
  const mailing = { name: 'mails of low balances', log, signal };
  startInterval(WATCH_SECONDS, mailing, () => mailBalances(deps));
  if (!billing) return;
  // Apart from the mails, which need not wait for Stripe.
  const reloading = { name: 'auto-reload', log, signal };
  startInterval(WATCH_SECONDS, reloading, () => reloadBalances(deps, billing));
  startInterval(SETTLE_SECONDS, { name: 'orders', log, signal }, () => settleDue(billing));
  const forgetting = { name: 'events of Stripe', log, signal };
  startInterval(FORGET_SECONDS, forgetting, () => forgetEvents(billing));
}
