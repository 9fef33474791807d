import { type Delivery, sendCallbacks } from '../kit/callbacks.ts';
import { quirk } from '../kit/faults.ts';
import type { JobRecord } from '../kit/record.ts';
import type { ArkTask } from './task.ts';

/** Source: Ark's page about creating a task: 5 s to acknowledge, then up to 3 retries. */
const RULES = { timeoutSeconds: 5, retries: 3, retrySeconds: 1 };
const INTERVAL_MILLISECONDS = 30;
const ENDS = new Set(['succeeded', 'failed', 'expired']);

export interface ReporterDeps {
  record: JobRecord<ArkTask>;
  word(task: ArkTask): string;
  show(task: ArkTask, status?: string): unknown;
}

export type Reporter = ReturnType<typeof createReporter>;

/**
 * Sends a callback for every change of a task's status, except to `cancelled`. The record keeps the
 * last reported status, so that a simulator continues after a kill.
 */
export function createReporter({ record, word, show }: ReporterDeps) {
  const busy = new Set<string>();
  const delivery = (task: ArkTask, status: string): Delivery => {
    return { body: JSON.stringify(show(task, status)), headers: {} };
  };

  async function report(task: ArkTask): Promise<void> {
    const status = word(task);
    const isReversed = quirk(task, 'callback_reordered') !== undefined;
    const isChange = status !== task.reported && status !== 'cancelled' && task.callbackUrl;
    if (!isChange || busy.has(task.id) || (isReversed && !ENDS.has(status))) return;
    busy.add(task.id);
    const statuses = isReversed ? ['queued', 'running', status] : [status];
    const deliveries = statuses.map((one) => delivery(task, one));
    const callbacks = { url: task.callbackUrl ?? '', deliveries, forged: forged(task) };
    await sendCallbacks(callbacks, task.quirks, RULES);
    const current = record.get(task.id); // a control call may have changed it in the meantime
    record.put({ ...(current ?? task), reported: status });
    busy.delete(task.id);
  }

  return {
    /** Sends the callback of a task now, if its status has changed. */
    report,
    /** Checks all tasks until the process ends. */
    start() {
      setInterval(() => {
        for (const task of record.all()) void report(task);
      }, INTERVAL_MILLISECONDS).unref();
    },
  };
}

/** A forged callback: of a task that does not exist, with a link to another host. */
function forged(task: ArkTask): Delivery {
  const content = { video_url: 'http://127.0.0.1:9/forged.mp4' };
  const body = { id: `${task.id}-forged`, model: task.model, status: 'succeeded', content };
  return { body: JSON.stringify(body), headers: {} };
}
