import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, quirk } from './faults.ts';

/** One POST to a callback URL. */
export interface Delivery {
  body: string;
  headers: Record<string, string>;
}

/** All callbacks of one kind of news, in the order in which they came to be. */
export interface News {
  url: string;
  /** In the order of what happened to the job. */
  deliveries: Delivery[];
  /** What somebody else might send to the same URL; sent before each when the quirk says so. */
  forged: Delivery;
}

export interface CallbackRules {
  /** Without an answer in this time, a delivery counts as not acknowledged. */
  timeoutSeconds: number;
  /** How often a delivery that was not acknowledged is sent again. */
  retries: number;
  retrySeconds: number;
}

/**
 * Sends news as the job's quirks have it: doubled, late, in reverse, after a forged one, or not at
 * all. Resolves when every delivery was acknowledged or given up.
 */
export async function sendNews(news: News, quirks: Fault[], rules: CallbackRules): Promise<void> {
  const has = (kind: Fault['kind']) => quirk({ quirks }, kind);
  if (has('callback_missing')) return;
  const late = has('callback_late');
  if (late) await delay((late.seconds ?? 1) * 1000, undefined, { ref: false });
  const inOrder = has('callback_reordered') ? news.deliveries.toReversed() : news.deliveries;
  for (const delivery of inOrder) {
    if (has('callback_forged')) await post(news.url, news.forged, rules);
    await deliver(news.url, delivery, rules);
    if (has('callback_duplicate')) await deliver(news.url, delivery, rules);
  }
}

async function deliver(url: string, delivery: Delivery, rules: CallbackRules): Promise<void> {
  for (let retries = 0; !(await post(url, delivery, rules)); retries++) {
    if (retries === rules.retries) return;
    await delay(rules.retrySeconds * 1000, undefined, { ref: false });
  }
}

/** @returns whether it was acknowledged with a 2xx */
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
