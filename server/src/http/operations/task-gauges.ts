import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../../database/database.ts';
import { type Figures, readFigures } from '../../operator/listings/figures.ts';
import { REPORT_REASONS } from '../../reports/reports.ts';
import { LIVE_PHASES } from '../../tasks/task.ts';
import { WORKER_POOLS } from '../../worker/claim.ts';
import { type DatabaseGaugeName, metric } from './metric-list.ts';

const HELD_CAUSES = ['acceptance', 'outcome'];
const ORDER_KINDS = ['pack', 'reload', 'invoice'];
const ENDPOINT_STATES = ['sound', 'failing', 'disabled'];

/**
 * Which list of {@link Figures} a gauge shows, and which member of its rows is the value. A gauge
 * with one label may list the label's values: these alone are exported, as 0 without a row, because
 * an alert on a missing series never fires.
 */
type Reading = {
  [Of in keyof Figures]: [of: Of, value: keyof Figures[Of][number], all?: readonly string[]];
}[keyof Figures];

const READINGS: Record<DatabaseGaugeName, Reading> = {
  framewright_tasks: ['live', 'tasks', LIVE_PHASES],
  framewright_oldest_task_seconds: ['live', 'oldest_seconds', LIVE_PHASES],
  framewright_reserved_credits: ['live', 'credits', LIVE_PHASES],
  framewright_held_tasks: ['held', 'tasks', HELD_CAUSES],
  framewright_held_credits: ['held', 'credits', HELD_CAUSES],
  framewright_oldest_held_seconds: ['held', 'oldest_seconds', HELD_CAUSES],
  framewright_reconciled_attempts: ['reconciled', 'attempts'],
  framewright_orphan_jobs: ['orphans', 'jobs'],
  framewright_unserved_tasks: ['unserved', 'tasks'],
  framewright_billed_failures: ['billedFailures', 'tasks'],
  framewright_billed_failure_credits: ['billedFailures', 'credits'],
  framewright_closed_seconds: ['closed', 'seconds'],
  framewright_due_tasks: ['due', 'tasks', WORKER_POOLS],
  framewright_oldest_due_seconds: ['due', 'oldest_seconds', WORKER_POOLS],
  framewright_live_workers: ['workers', 'workers'],
  framewright_objects_to_delete: ['deleting', 'objects'],
  framewright_webhook_endpoints: ['webhooks', 'endpoints', ENDPOINT_STATES],
  framewright_waiting_deliveries: ['webhooks', 'deliveries', ENDPOINT_STATES],
  framewright_oldest_delivery_seconds: ['webhooks', 'oldest_seconds', ENDPOINT_STATES],
  framewright_oldest_report_seconds: ['reports', 'oldest_seconds', REPORT_REASONS],
  framewright_report_decision_seconds: ['decided', 'seconds'],
  framewright_margin: ['margins', 'margin'],
  framewright_differing_costs: ['differing', 'tasks'],
  framewright_mismatched_orders: ['mismatched', 'orders', ORDER_KINDS],
};

/** How long figures are reused, so that all gauges of one scrape share a read. */
const SAME_SCRAPE_MILLISECONDS = 500;

/** Registers the gauges that are read from the database, once per scrape. */
export function registerDatabaseGauges(db: Database, registry: Registry): void {
  let last: { readAt: number; figures: Promise<Figures> } | undefined;
  const figuresNow = () => {
    const now = performance.now();
    if (!last || now - last.readAt > SAME_SCRAPE_MILLISECONDS) {
      last = { readAt: now, figures: readFigures(db) };
    }
    return last.figures;
  };
  for (const [name, [of, value, all = []]] of Object.entries(READINGS)) {
    const { help, labels } = metric(name as DatabaseGaugeName);
    const [label = ''] = labels;
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        const rows: object[] = (await figuresNow())[of];
        this.reset();
        for (const name of all) this.set({ [label]: name }, 0);
        for (const row of rows as Record<string, string | number>[]) {
          if (all.length > 0 && !all.includes(String(row[label]))) continue;
          const values = labels.map((name) => [name, row[name]]);
          this.set(Object.fromEntries(values), Number(row[value]));
        }
      },
    });
  }
}
