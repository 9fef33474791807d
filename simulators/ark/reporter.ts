import { type Delivery, sendNews } from '../kit/callbacks.ts';
import { quirk } from '../kit/faults.ts';
import type { JobRecord } from '../kit/record.ts';
import type { ArkTask } from './task.ts';

/** Source: the create page: 5 s to acknowledge, then up to 3 retries. */
const RULES = { timeoutSeconds: 5, retries: 3, retrySeconds: 1 };
const LOOK_MILLISECONDS = 30;
const ENDS = new Set(['succeeded', 'failed', 'expired']);

export interface ReporterParts {
  record: JobRecord<ArkTask>;
  word(task: ArkTask): string;
  show(task: ArkTask, status?: string): unknown;
}

/**
 * Calls back whenever a task's status has changed, `cancelled` excepted. What was called back is
 * in the record, so that a killed simulator goes on where it was.
 */
export function createReporter({ record, word, show }: ReporterParts) {
  const busy = new Set<string>();
  const delivery = (task: ArkTask, status: string): Delivery => {
    return { body: JSON.stringify(show(task, status)), headers: {} };
  };

  async function report(task: ArkTask): Promise<void> {
    const status = word(task);
    const isReversed = quirk(task, 'callback_reordered') !== undefined;
    const isNews = status !== task.reported && status !== 'cancelled' && task.callbackUrl;
    if (!isNews || busy.has(task.id) || (isReversed && !ENDS.has(status))) return;
    busy.add(task.id);
    const statuses = isReversed ? ['queued', 'running', status] : [status];
    const deliveries = statuses.map((one) => delivery(task, one));
    const news = { url: task.callbackUrl ?? '', deliveries, forged: forged(task) };
    await sendNews(news, task.quirks, RULES);
    const current = record.get(task.id); // a control call may have changed it in the meantime
    record.put({ ...(current ?? task), reported: status });
    busy.delete(task.id);
  }

  return {
    report,
    /** For as long as the process lives. */
    start() {
      setInterval(() => {
        for (const task of record.all()) void report(task);
      }, LOOK_MILLISECONDS).unref();
    },
  };
}

/** A stranger's: of a task that is not ours, with a link to somewhere else. */
function forged(task: ArkTask): Delivery {
  const content = { video_url: 'http://127.0.0.1:9/forged.mp4' };
  const body = { id: `${task.id}-forged`, model: task.model, status: 'succeeded', content };
  return { body: JSON.stringify(body), headers: {} };
}
