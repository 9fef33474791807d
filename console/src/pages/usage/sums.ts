import type { Usage, UsageEntry } from '../../../../server/src/site/tasks/read-usage.ts';
import type { ChartData } from '../../ui/chart/plot.ts';

/** What was used under one name, such as a day or a model. */
export interface Sums {
  name: string;
  videos: number;
  failed: number;
  credits: number;
}

/** One row for each name, in the order of the names' first rows. */
export function sumsBy(rows: UsageEntry[], nameOf: (row: UsageEntry) => string): Sums[] {
  const sums = new Map<string, Sums>();
  for (const row of rows) {
    const name = nameOf(row);
    const { videos, failed, credits } = sums.get(name) ?? { videos: 0, failed: 0, credits: 0 };
    sums.set(name, {
      name,
      videos: videos + row.videos,
      failed: failed + row.failed,
      credits: credits + row.credits,
    });
  }
  return [...sums.values()];
}

export function totalOf(rows: UsageEntry[]): Sums {
  return sumsBy(rows, () => '')[0] ?? { name: '', videos: 0, failed: 0, credits: 0 };
}

const DAY_MS = 86_400_000;

/** A chart over every day of the period, also those without a row. */
export function chartOf({ from, to, rows }: Usage, value: 'credits' | 'videos'): ChartData {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) days.push(dayOf(at));
  const byDay = new Map(sumsBy(rows, ({ day }) => day).map((sums) => [sums.name, sums]));
  return {
    times: days.map((day) => Date.parse(day) / 1000),
    series: [
      {
        label: value === 'credits' ? 'Credits' : 'Videos',
        values: days.map((day) => byDay.get(day)?.[value] || null),
      },
    ],
  };
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The present day, UTC. */
export function today(): string {
  return dayOf(Date.now());
}

/** The first day of so many days that end with this one. */
export function daysUntil(last: string, count: number): string {
  return dayOf(Date.parse(last) - (count - 1) * DAY_MS);
}
