import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, quirk } from './faults.ts';

/** One POST to a callback URL. */
export interface Delivery {
  body: string;
  headers: Record<string, string>;
}

/** Callbacks to one URL. */
export interface Callbacks {
  url: string;
  /** In the order of the events. */
  deliveries: Delivery[];
  /**
   * What an attacker might send to the same URL; the fault `callback_forged` sends it before each.
   */
  forged: Delivery;
}

export interface CallbackRules {
  /** A delivery without a response in this time counts as not acknowledged. */
  timeoutSeconds: number;
  /** How often a delivery that was not acknowledged is retried. */
  retries: number;
  retrySeconds: number;
}

/**
 * Sends callbacks with the faults in the job's quirks: twice, late, in reverse, after a forged one,
 * or not at all. Resolves when every delivery was acknowledged or has no retries left.
 */
export async function sendCallbacks(
  callbacks: Callbacks,
  quirks: Fault[],
  rules: CallbackRules,
): Promise<void> {
  const has = (kind: Fault['kind']) => quirk({ quirks }, kind);
  if (has('callback_missing')) return;
  const late = has('callback_late');
  if (late) await delay((late.seconds ?? 1) * 1000, undefined, { ref: false });
  const inOrder = has('callback_reordered')
    ? callbacks.deliveries.toReversed()
    : callbacks.deliveries;
  for (const delivery of inOrder) {
    if (has('callback_forged')) await post(callbacks.url, callbacks.forged, rules);
    await deliver(callbacks.url, delivery, rules);
    if (has('callback_duplicate')) await deliver(callbacks.url, delivery, rules);
  }
}

async function deliver(url: string, delivery: Delivery, rules: CallbackRules): Promise<void> {
  for (let retries = 0; !(await post(url, delivery, rules)); retries++) {
    if (retries === rules.retries) return;
    await delay(rules.retrySeconds * 1000, undefined, { ref: false });
  }
}

/** @returns whether the response was a 2xx */
async function post(url: string, delivery: Delivery, rules: CallbackRules): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: delivery.body,
      headers: { 'content-type': 'application/json', ...delivery.headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(rules.timeoutSeconds * 1000),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
