import { startInterval } from '../kernel/interval.ts';
import { mailBalances, reloadBalances, type WatchDeps } from './low-balance/watch.ts';
import { forgetEvents, settleDue } from './sweep.ts';

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
