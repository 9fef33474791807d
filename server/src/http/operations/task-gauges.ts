import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../../database/database.ts';
import { type Figures, readFigures } from '../../operator/listings/figures.ts';
import { LIVE_PHASES } from '../../tasks/task.ts';
import { WORKER_POOLS } from '../../worker/claim.ts';
import { type DatabaseGaugeName, metric } from './metric-list.ts';

type Labels = Record<string, string>;

/** Derives a gauge's values from the figures. */
type Reading = (figures: Figures) => { labels: Labels; value: number }[];

const HELD_CAUSES = ['acceptance', 'outcome'];
const ORDER_KINDS = ['pack', 'reload', 'invoice'];
const ENDPOINT_STATES = ['sound', 'failing', 'disabled'];

/** A value per name, 0 without a row: an alert on a missing series never fires. */
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

const byPool = (amountOf: (row: Figures['due'][number]) => number) => (figures: Figures) =>
  forEach(WORKER_POOLS, 'pool', figures.due, { nameOf: (row) => row.pool, amountOf });

const byEndpoints =
  (amountOf: (row: Figures['webhooks'][number]) => number) => (figures: Figures) =>
    forEach(ENDPOINT_STATES, 'state', figures.webhooks, { nameOf: (row) => row.state, amountOf });

const byLoss = (amountOf: (row: Figures['losses'][number]) => number) => (figures: Figures) =>
  figures.losses.map((row) => ({ labels: { provider: row.provider }, value: amountOf(row) }));

const READINGS: Record<DatabaseGaugeName, Reading> = {
  framewright_tasks: byPhase((row) => row.tasks),
  framewright_oldest_task_seconds: byPhase((row) => row.oldest_seconds),
  framewright_reserved_credits: byPhase((row) => row.credits),
  framewright_held_tasks: byCause((row) => row.tasks),
  framewright_held_credits: byCause((row) => row.credits),
  framewright_oldest_held_seconds: byCause((row) => row.oldest_seconds),
  framewright_reconciled_attempts: ({ reconciled }) =>
    reconciled.map(({ by, result, attempts }) => ({ labels: { by, result }, value: attempts })),
  framewright_orphan_jobs: ({ orphans }) =>
    orphans.map(({ provider, state, jobs }) => ({ labels: { provider, state }, value: jobs })),
  framewright_unserved_tasks: ({ unserved }) =>
    unserved.map(({ provider, tasks }) => ({ labels: { provider }, value: tasks })),
  framewright_billed_failures: byLoss((row) => row.tasks),
  framewright_billed_failure_credits: byLoss((row) => row.credits),
  framewright_closed_seconds: ({ closed }) =>
    closed.map(({ subject, cause, seconds }) => ({ labels: { subject, cause }, value: seconds })),
  framewright_due_tasks: byPool((row) => row.tasks),
  framewright_oldest_due_seconds: byPool((row) => row.oldest_seconds),
  framewright_live_workers: ({ workers }) =>
    workers.map(({ provider, workers: value }) => ({ labels: { provider }, value })),
  framewright_objects_to_delete: ({ deleting }) =>
    deleting.map(({ role, objects }) => ({ labels: { role }, value: objects })),
  framewright_webhook_endpoints: byEndpoints((row) => row.endpoints),
  framewright_waiting_deliveries: byEndpoints((row) => row.deliveries),
  framewright_oldest_delivery_seconds: byEndpoints((row) => row.oldest_seconds),
  framewright_mismatched_orders: ({ mismatched }) =>
    forEach(ORDER_KINDS, 'kind', mismatched, {
      nameOf: (row) => row.kind,
      amountOf: (row) => row.orders,
    }),
};

/** How long figures are reused, so that all gauges of one scrape share a read. */
const SAME_SCRAPE_MILLISECONDS = 500;

/** Registers the gauges that are read from the database, once per scrape. */
export function gaugeTasks(db: Database, registry: Registry): void {
  let last: { readAt: number; figures: Promise<Figures> } | undefined;
  const figuresNow = () => {
    const now = performance.now();
    if (!last || now - last.readAt > SAME_SCRAPE_MILLISECONDS) {
      last = { readAt: now, figures: readFigures(db) };
    }
    return last.figures;
  };
  for (const [name, read] of Object.entries(READINGS)) {
    const { help, labels } = metric(name as DatabaseGaugeName);
    new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [registry],
      async collect() {
        const readings = read(await figuresNow());
        this.reset();
        for (const reading of readings) this.set(reading.labels, reading.value);
      },
    });
  }
}
