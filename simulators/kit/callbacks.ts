import { setTimeout as delay } from 'node:timers/promises';
import { quirk } from './faults.ts';
import type { BaseJob, JobRecord } from './record.ts';

/** One POST to a callback URL. */
export interface Delivery {
  body: string;
  headers: Record<string, string>;
}

export interface CallbackRules {
  /** A delivery without a response in this time counts as not acknowledged. */
  timeoutSeconds: number;
  /** How often a delivery that was not acknowledged is retried. */
  retries: number;
  retrySeconds: number;
}

/** How a simulated provider calls back. */
export interface Reports<Job extends BaseJob> {
  rules: CallbackRules;
  /** The job's status now. */
  wordOf(job: Job): string;
  /** The statuses that end a job. */
  ends: ReadonlySet<string>;
  /** The callback of a status; undefined if there is none. */
  deliveryOf(job: Job, word: string): Delivery | undefined;
  /** What an attacker might send; the fault `callback_forged` sends it before each callback. */
  forgedOf(job: Job): Delivery;
}

const INTERVAL_MILLISECONDS = 30;

/**
 * Calls back when the status of a job changes. The record keeps the last status that was reported,
 * so that a simulator continues after a kill.
 * @param jobSeconds with 0, jobs end at their submit, and no callback is sent
 */
export function createReporter<Job extends BaseJob>(
  record: JobRecord<Job>,
  jobSeconds: number,
  { rules, wordOf, ends, deliveryOf, forgedOf }: Reports<Job>,
) {
  const open = new Set<string>();
  const busy = new Set<string>();
  const watch = (job: Job) => {
    const isOver = job.reported !== null && ends.has(job.reported);
    if (jobSeconds > 0 && job.callbackUrl && !isOver && !quirk(job, 'vanishes')) open.add(job.id);
  };
  for (const job of record.all()) watch(job);
  async function report(job: Job, word = wordOf(job)): Promise<void> {
    const { id, callbackUrl, reported } = job;
    if (busy.has(id) || !callbackUrl || word === reported) return;
    busy.add(id);
    const delivery = quirk(job, 'callback_missing') ? undefined : deliveryOf(job, word);
    if (delivery && quirk(job, 'callback_forged')) await post(callbackUrl, forgedOf(job), rules);
    if (delivery) await deliver(callbackUrl, delivery, rules);
    // A control call may have changed the job in the meantime.
    record.put({ ...(record.get(id) ?? job), reported: word });
    if (ends.has(word)) open.delete(id);
    busy.delete(id);
  }
  setInterval(() => {
    for (const id of open) {
      const job = record.get(id);
      if (job) void report(job);
    }
  }, INTERVAL_MILLISECONDS).unref();
  return {
    /** Reports a new job from now on; at once, as in this status, with the fault `callback_early`. */
    async begin(job: Job, early: string) {
      watch(job);
      if (quirk(job, 'callback_early')) await report(job, early);
    },
  };
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
