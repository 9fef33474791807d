/**
 * counter, histogram: of this process, since its start. process gauge: of this process, now.
 * database gauge: read from the database, so each process shows the same value.
 */
export type MetricKind = 'counter' | 'histogram' | 'process gauge' | 'database gauge';

export interface MetricDefinition {
  kind: MetricKind;
  /** The row of the dashboard. */
  section:
    | 'Tasks'
    | 'Requests'
    | 'Workers'
    | 'Providers'
    | 'Credits'
    | 'Database'
    | 'Files'
    | 'Webhooks';
  /** The heading of its panel. */
  title: string;
  help: string;
  /** Each has few values, all of them known beforehand: no ids and no texts of clients. */
  labels: readonly string[];
  /** Of a histogram: upper bounds, in seconds or items. */
  buckets?: readonly number[];
}

export const FAST = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
export const CALL = [0.03, 0.1, 0.3, 1, 3, 10, 30];
export const STEP = [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];
export const LONG = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3600, 10_800];
export const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The heading of its panel, its labels, and its help. */
type Words = [title: string, labels: string[], help: string];

const ofKind =
  <Kind extends MetricKind>(kind: Kind) =>
  (...[title, labels, help]: Words) => ({ kind, title, labels, help });

export const counter = ofKind('counter');
export const processGauge = ofKind('process gauge');
export const databaseGauge = ofKind('database gauge');

export function histogram(
  ...[title, labels, help, buckets]: [...Words, buckets: readonly number[]]
) {
  return { ...ofKind('histogram')(title, labels, help), buckets };
}

/** Metrics of one row of the dashboard. */
export function section<Rows extends Record<string, Omit<MetricDefinition, 'section'>>>(
  name: MetricDefinition['section'],
  rows: Rows,
) {
  const named = Object.entries(rows).map(([key, row]) => [key, { ...row, section: name }]);
  return Object.fromEntries(named) as {
    [Name in keyof Rows]: Rows[Name] & { section: typeof name };
  };
}
