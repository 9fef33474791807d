import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../../database/database.ts';
import { type Figures, readFigures } from '../../operator/figures.ts';
import { LIVE_PHASES } from '../../tasks/task.ts';

type Labels = Record<string, string>;

/** A gauge, and the function that takes its values from the figures. */
interface Reading {
  name: string;
  help: string;
  labels: string[];
  values(figures: Figures): { labels: Labels; value: number }[];
}

const HELD_CAUSES = ['acceptance', 'outcome'];

/** A value for each name, 0 if it has no row: an alert on a series that is missing never fires. */
function forEach<Row>(
  names: readonly string[],
  label: string,
  rows: Row[],
  { nameOf, amountOf }: { nameOf(row: Row): string; amountOf(row: Row): number },
) {
  return names.map((name) => {
    const row = rows.find((candidate) => nameOf(candidate) === name);
    return { labels: { [label]: name }, value: row === undefined ? 0 : amountOf(row) };
  });
}

const byPhase = (amountOf: (row: Figures['live'][number]) => number) => (figures: Figures) =>
  forEach(LIVE_PHASES, 'phase', figures.live, { nameOf: (row) => row.phase, amountOf });

const byCause = (amountOf: (row: Figures['held'][number]) => number) => (figures: Figures) =>
  forEach(HELD_CAUSES, 'cause', figures.held, { nameOf: (row) => row.cause, amountOf });

const byLoss = (amountOf: (row: Figures['losses'][number]) => number) => (figures: Figures) =>
  figures.losses.map((row) => ({ labels: { provider: row.provider }, value: amountOf(row) }));

const READINGS: Reading[] = [
  {
    name: 'framewright_tasks',
    help: 'Tasks that have not ended, by phase',
    labels: ['phase'],
    values: byPhase((row) => row.tasks),
  },
  {
    name: 'framewright_oldest_task_seconds',
    help: 'Seconds since the last transition of the task that has been in its phase the longest',
    labels: ['phase'],
    values: byPhase((row) => row.oldest_seconds),
  },
  {
    name: 'framewright_reserved_credits',
    help: 'Credits reserved for tasks that have not ended, by phase',
    labels: ['phase'],
    values: byPhase((row) => row.credits),
  },
  {
    name: 'framewright_held_tasks',
    help: 'Held tasks, by what is not known: acceptance or outcome',
    labels: ['cause'],
    values: byCause((row) => row.tasks),
  },
  {
    name: 'framewright_held_credits',
    help: 'Credits of held tasks, by cause',
    labels: ['cause'],
    values: byCause((row) => row.credits),
  },
  {
    name: 'framewright_oldest_held_seconds',
    help: 'Seconds since the task held the longest was first held, by cause',
    labels: ['cause'],
    values: byCause((row) => row.oldest_seconds),
  },
  {
    name: 'framewright_reconciled_attempts',
    help: 'Attempts with an outcome after the submit, by callback, find, operator or assumption',
    labels: ['by', 'result'],
    values: ({ reconciled }) =>
      reconciled.map(({ by, result, attempts }) => ({ labels: { by, result }, value: attempts })),
  },
  {
    name: 'framewright_orphan_jobs',
    help: 'Provider jobs that no task uses, by state: confirmed, suspected, unknown_there',
    labels: ['provider', 'state'],
    values: ({ orphans }) =>
      orphans.map(({ provider, state, jobs }) => ({ labels: { provider, state }, value: jobs })),
  },
  {
    name: 'framewright_unserved_tasks',
    help: 'Tasks that have not ended and whose provider no running worker has',
    labels: ['provider'],
    values: ({ unserved }) =>
      unserved.map(({ provider, tasks }) => ({ labels: { provider }, value: tasks })),
  },
  {
    name: 'framewright_billed_failures',
    help: 'Failed and refunded tasks that the provider charges for',
    labels: ['provider'],
    values: byLoss((row) => row.tasks),
  },
  {
    name: 'framewright_billed_failure_credits',
    help: 'Credits refunded for tasks that the provider charges for',
    labels: ['provider'],
    values: byLoss((row) => row.credits),
  },
  {
    name: 'framewright_closed_seconds',
    help: 'Seconds since a provider, or all creates, were closed by an outage or an operator',
    labels: ['subject', 'cause'],
    values: ({ closed }) =>
      closed.map(({ subject, cause, seconds }) => ({ labels: { subject, cause }, value: seconds })),
  },
];

/** How long figures are reused, so that all gauges of a scrape share one read. */
const SAME_SCRAPE_MILLISECONDS = 500;

/** Registers the gauges of the database. Each scrape reads the database once. */
export function gaugeTasks(db: Database, registry: Registry): void {
  let last: { readAt: number; figures: Promise<Figures> } | undefined;
  const figuresNow = () => {
    const now = performance.now();
    if (!last || now - last.readAt > SAME_SCRAPE_MILLISECONDS) {
      last = { readAt: now, figures: readFigures(db) };
    }
    return last.figures;
  };
  for (const { name, help, labels, values } of READINGS) {
    new Gauge({
      ...{ name, help, labelNames: labels, registers: [registry] },
      async collect() {
        const readings = values(await figuresNow());
        this.reset();
        for (const reading of readings) this.set(reading.labels, reading.value);
      },
    });
  }
}
