import { startInterval } from '../kernel/interval.ts';
import { type WatchDeps, watchBalances } from './low-balance/watch.ts';
import { forgetEvents, settleDue } from './sweep.ts';

const SETTLE_SECONDS = 2;
const WATCH_SECONDS = 10;
const FORGET_SECONDS = 3600;

/** Starts the periodic work of billing in a worker, until the signal aborts. */
export function startBillingJobs(deps: WatchDeps & { signal: AbortSignal }): void {
  const { billing, log, signal } = deps;
  const watching = { name: 'low balances', log, signal };
  startInterval(WATCH_SECONDS, watching, () => watchBalances(deps));
  if (!billing) return;
  startInterval(SETTLE_SECONDS, { name: 'orders', log, signal }, () => settleDue(billing));
  const forgetting = { name: 'events of Stripe', log, signal };
  startInterval(FORGET_SECONDS, forgetting, () => forgetEvents(billing));
}
