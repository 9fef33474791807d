import { report, secondsSince } from '../telemetry/reports.ts';

interface Call<Item, Result> {
  item: Item;
  key: string;
  lane: string | undefined;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface BatchOptions<Item, Result> {
  /** For the metrics. Without it, the batches are not reported. */
  name?: string;
  maxItems: number;
  concurrency: number;
  /**
   * Divides many waiting items into two batches: while the database works on one, the process works
   * on the results of the other.
   */
  isPipelined?: boolean | undefined;
  maxWaiting: number;
  /** The error for an item beyond `maxWaiting`. */
  tooMany(): Error;
  /** Items with the same key are never in one batch. */
  keyOf(item: Item): string;
  /** Items of one lane are never in two running batches. */
  laneOf?(item: Item): string;
  /** Whether a batch has items of one lane only. */
  oneLanePerBatch?: boolean;
  /** Does the work of one batch and returns the results in the order of the items. */
  work(items: Item[]): Promise<Result[]>;
}

/** Smaller halves would cost more than they gain. */
const MIN_HALF = 16;

/**
 * Micro-batches calls that arrive in one tick, or while `concurrency` batches are running. A lone
 * call does not wait. When a batch fails, each of its calls fails.
 */
export function batch<Item, Result>(
  options: BatchOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  let waiting: Call<Item, Result>[] = [];
  let running = 0;
  let runningItems = 0;
  let scheduled = false;
  const busyLanes = new Set<string | undefined>();

  const itemsOfNext = () => {
    if (!options.isPipelined) return options.maxItems;
    const half = Math.ceil((waiting.length + runningItems) / 2);
    return Math.min(options.maxItems, Math.max(MIN_HALF, half));
  };
  const runNext = async () => {
    scheduled = false;
    if (waiting.length === 0 || running === options.concurrency) return;
    const { oneLanePerBatch = false } = options;
    const { next, rest } = divide(waiting, { maxItems: itemsOfNext(), busyLanes, oneLanePerBatch });
    if (next.length === 0) return; // the end of a batch schedules the next one
    waiting = rest;
    running += 1;
    runningItems += next.length;
    const lanes = options.laneOf ? next.map(({ lane }) => lane) : [];
    for (const lane of lanes) busyLanes.add(lane);
    if (rest.length > 0) schedule();
    await runBatch(next, options);
    for (const lane of lanes) busyLanes.delete(lane);
    running -= 1;
    runningItems -= next.length;
    schedule();
  };
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(runNext); // after all requests that this tick of the event loop has read
  };
  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= options.maxWaiting) return reject(options.tooMany());
      const [key, lane] = [options.keyOf(item), options.laneOf?.(item)];
      waiting.push({ item, key, lane, resolve, reject });
      schedule();
    });
}

/** The first `maxItems` calls with different keys and idle lanes, and the other calls in order. */
function divide<Item, Result>(
  calls: Call<Item, Result>[],
  options: { maxItems: number; busyLanes: Set<string | undefined>; oneLanePerBatch: boolean },
) {
  const { maxItems, busyLanes, oneLanePerBatch } = options;
  const isFree = ({ lane }: Call<Item, Result>) =>
    !busyLanes.has(lane) && !(oneLanePerBatch && next[0] && next[0].lane !== lane);
  const keys = new Set<string>();
  const next: Call<Item, Result>[] = [];
  const rest: Call<Item, Result>[] = [];
  for (const call of calls) {
    const fits = next.length < maxItems && !keys.has(call.key) && isFree(call);
    (fits ? next : rest).push(call);
    keys.add(call.key);
  }
  return { next, rest };
}

async function runBatch<Item, Result>(
  calls: Call<Item, Result>[],
  { name, work }: Pick<BatchOptions<Item, Result>, 'name' | 'work'>,
): Promise<void> {
  const startedAt = performance.now();
  try {
    const results = await work(calls.map((call) => call.item));
    if (results.length !== calls.length)
      throw new Error('a batch returned too few or too many results');
    for (const [i, call] of calls.entries()) call.resolve(results[i] as Result);
  } catch (error) {
    for (const call of calls) call.reject(error);
  } finally {
    if (name !== undefined) {
      report('batch', { batch: name, items: calls.length, seconds: secondsSince(startedAt) });
    }
  }
}
