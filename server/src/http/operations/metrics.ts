import { fastify } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallbackResult } from '../../attempts/callback.ts';
import type { Database } from '../../database/database.ts';
import { VERSION } from '../../kernel/version.ts';
import { OBJECT_ROLES } from '../../storage/objects.ts';
import { onReport } from '../../telemetry/reports.ts';
import {
  type CounterName,
  type HistogramName,
  METRICS,
  metric,
  type ProcessGaugeName,
} from './metric-list.ts';
import { shareMetrics } from './shared-metrics.ts';
import { registerDatabaseGauges } from './task-gauges.ts';

/** How often event-loop lag is sampled; each sample wakes the process. */
const LAG_SAMPLE_SECONDS = 0.25;

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Creates the metrics and a server with `/metrics`; docs/operators/metrics.md explains each.
 * @param processName names this process where one start runs several: the supervisor collects
 *   their metrics, labelled with this name
 */
export function createMetrics(db: Database, processName?: string) {
  const registry = new Registry();
  if (processName !== undefined) shareMetrics(registry, processName);
  const eventLoopMonitoringPrecision = LAG_SAMPLE_SECONDS * 1000;
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  registerDatabaseGauges(db, registry);
  const processMetrics = registerProcessMetrics(registry);
  const { inc, observe } = processMetrics;
  processMetrics.gauge('framewright_build_info').set({ version: VERSION }, 1);
  const stopCounting = countReports(processMetrics);
  const app = fastify();
  app.addHook('onClose', async () => stopCounting());
  app.get('/metrics', async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return {
    app,
    countResponse({ route, status, seconds }: { route: string; status: number; seconds: number }) {
      inc('framewright_http_responses_total', { route, status });
      observe('framewright_http_response_seconds', { route }, seconds);
    },
    countCallback(provider: string, result: CallbackResult | 'failed') {
      inc('framewright_callbacks_total', { provider, result });
    },
  };
}

type Labels = Record<string, string | number>;

interface ProcessMetrics {
  inc(name: CounterName, labels: Labels, by?: number): void;
  observe(name: HistogramName, labels: Labels, value: number): void;
  gauge(name: ProcessGaugeName): Gauge;
  /** Exports a histogram as 0: an increase() query would miss its first observation otherwise. */
  zero(name: HistogramName, labels: Labels): void;
}

function registerProcessMetrics(registry: Registry): ProcessMetrics {
  for (const name of Object.keys(METRICS) as (keyof typeof METRICS)[]) {
    const { kind, help, labels, buckets = [] } = metric(name);
    const options = { name, help, labelNames: labels, registers: [registry] };
    if (kind === 'counter') new Counter(options);
    if (kind === 'process gauge') new Gauge(options);
    if (kind === 'histogram') new Histogram({ ...options, buckets });
  }
  const named = <Kind>(name: string) => registry.getSingleMetric(name) as Kind;
  return {
    inc: (name, labels, by = 1) => named<Counter>(name).inc(labels, by),
    observe: (name, labels, value) => named<Histogram>(name).observe(labels, value),
    gauge: named,
    zero: (name, labels) => named<Histogram>(name).zero(labels),
  };
}

/** The histogram of each kind of report that consists of seconds and labels. */
const TIMED = {
  step: 'framewright_step_seconds',
  phase: 'framewright_phase_seconds',
  end: 'framewright_task_seconds',
  database: 'framewright_database_seconds',
  storage: 'framewright_storage_seconds',
  decode: 'framewright_decode_seconds',
  signing: 'framewright_signing_seconds',
  poster: 'framewright_poster_seconds',
  webhook: 'framewright_webhook_seconds',
} as const;

/** @returns a function that stops counting */
function countReports({ inc, observe, gauge, zero }: ProcessMetrics): () => void {
  const atWork = gauge('framewright_pool_tasks');
  const allSlots = gauge('framewright_pool_places');
  const disk = gauge('framewright_disk_bytes');
  const expiry = gauge('framewright_certificate_expiry_timestamp_seconds');
  const countVanished = (role: string, by?: number) =>
    inc('framewright_vanished_files_total', { role }, by);
  // Exported as 0 from the start: see `zero`.
  for (const role of OBJECT_ROLES) countVanished(role, 0);
  zero('framewright_signing_seconds', { outcome: 'given_up' });
  const unsubscribes = [
    ...Object.entries(TIMED).map(([kind, name]) =>
      onReport(kind as keyof typeof TIMED, ({ seconds, ...labels }) =>
        observe(name, labels, seconds),
      ),
    ),
    onReport('call', ({ provider, call, outcome, seconds }) => {
      inc('framewright_provider_calls_total', { provider, call, outcome });
      observe('framewright_provider_call_seconds', { provider, call }, seconds);
    }),
    onReport('batch', ({ batch, items, seconds }) => {
      observe('framewright_batch_items', { batch }, items);
      observe('framewright_batch_seconds', { batch }, seconds);
    }),
    onReport('claim', ({ pool, tasks, seconds }) => {
      observe('framewright_claim_seconds', { pool }, seconds);
      inc('framewright_claimed_tasks_total', { pool }, tasks);
    }),
    onReport('slot', ({ pool, change, slots }) => {
      atWork.inc({ pool }, change);
      allSlots.set({ pool }, slots);
    }),
    onReport('credits', ({ movement, credits }) => {
      inc('framewright_transfers_total', { movement });
      inc('framewright_moved_credits_total', { movement }, credits);
    }),
    onReport('disk', ({ freeBytes, reservedBytes, floors }) => {
      disk.set({ part: 'free' }, freeBytes);
      disk.set({ part: 'reserved' }, reservedBytes);
      disk.set({ part: 'upload_floor' }, floors.upload);
      disk.set({ part: 'create_floor' }, floors.input);
      disk.set({ part: 'output_floor' }, floors.output);
    }),
    onReport('certificate', ({ expiresAt }) => expiry.set(expiresAt.getTime() / 1000)),
    onReport('vanished', ({ role }) => countVanished(role)),
    onReport('verdict', (labels) => inc('framewright_verdicts_total', { ...labels })),
    onReport('periodic', ({ work, result }) =>
      inc('framewright_periodic_runs_total', { work, result }),
    ),
  ];
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}
