import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Queryable } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { readTaskFigures } from './listings/figures.ts';

const MINUTES = 120;

/** Counts in memory what this process did in each minute of the last two hours. */
export type RecentMinutes = ReturnType<typeof openRecentMinutes>;

export function openRecentMinutes(now = () => Date.now()) {
  const minutes: ReturnType<typeof newMinute>[] = [];
  const current = () => {
    const at = Math.floor(now() / 60_000) * 60;
    const last = minutes.at(-1);
    if (last && last.at >= at) return last; // even if the clock was set back
    const added = newMinute(at);
    minutes.push(added);
    if (minutes.length > MINUTES) minutes.shift();
    return added;
  };
  return {
    countResponse({ route, status, seconds }: { route: string; status: number; seconds: number }) {
      if (!route.startsWith('/api/')) return;
      const minute = current();
      minute.responses += 1;
      if (status >= 500) minute.errors += 1;
      if (status === 429) minute.limited += 1;
      if (status < 300)
        note(route.endsWith('/generations') ? minute.creates : minute.reads, seconds);
    },
    countProviderCall({ outcome }: { outcome: string }) {
      const minute = current();
      minute.calls += 1;
      if (FAILED_CALL.test(outcome)) minute.failed_calls += 1;
    },
    noteFigures({
      live,
      held,
      due,
    }: Pick<Awaited<ReturnType<typeof readTaskFigures>>, 'live' | 'held' | 'due'>) {
      const minute = current();
      minute.live = sumOf(live);
      minute.held = sumOf(held);
      minute.due = sumOf(due);
    },
    /** The last minutes, the oldest first. Times are in milliseconds; null without a request. */
    list: () =>
      minutes.map(({ reads, creates, ...minute }) => ({
        ...minute,
        read_p50: percentile(reads, 50),
        read_p95: percentile(reads, 95),
        create_p95: percentile(creates, 95),
      })),
  };
}

/** Records the task counts once a minute, until the signal aborts. */
export function followFigures(
  recent: RecentMinutes,
  { db, log, signal }: { db: Queryable; log: Log; signal: AbortSignal },
): void {
  startInterval(60, { name: 'the figures of the console', log, signal }, async () =>
    recent.noteFigures(await readTaskFigures(db)),
  );
}

/** Outcomes of calls that count against the provider. */
const FAILED_CALL = /^(error|unknown|not_sent|rejected_(busy|operator))$/;

function sumOf(rows: { tasks: number }[]): number {
  return rows.reduce((sum, { tasks }) => sum + tasks, 0);
}

function newMinute(at: number) {
  return {
    /** When it began: seconds since 1970. */
    at,
    responses: 0, // of the public API
    errors: 0, // responses with 5xx
    limited: 0, // responses with 429
    calls: 0, // to providers
    failed_calls: 0,
    /** Tasks at the minute's end, of all processes; null if the database was not asked. */
    live: null as number | null,
    held: null as number | null,
    due: null as number | null,
    reads: durations(),
    creates: durations(),
  };
}

/** A histogram of microseconds, up to an hour. */
function durations(): RecordableHistogram {
  return createHistogram({ lowest: 1, highest: 3_600_000_000, figures: 1 });
}

function note(durations: RecordableHistogram, seconds: number): void {
  durations.record(Math.max(1, Math.round(seconds * 1_000_000)));
}

/** In milliseconds, rounded up by at most a tenth; null without a duration. */
function percentile(durations: RecordableHistogram, percent: number): number | null {
  if (durations.count === 0) return null;
  return Math.round(durations.percentile(percent) / 100) / 10;
}
