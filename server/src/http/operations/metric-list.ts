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

const FAST = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
const CALL = [0.03, 0.1, 0.3, 1, 3, 10, 30];
const STEP = [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];
const LONG = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3600, 10_800];
const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The heading of its panel, its labels, and its help. */
type Words = [title: string, labels: string[], help: string];

const ofKind =
  <Kind extends MetricKind>(kind: Kind) =>
  (...[title, labels, help]: Words) => ({ kind, title, labels, help });

const counter = ofKind('counter');
const processGauge = ofKind('process gauge');
const databaseGauge = ofKind('database gauge');

function histogram(...[title, labels, help, buckets]: [...Words, buckets: readonly number[]]) {
  return { ...ofKind('histogram')(title, labels, help), buckets };
}

/** Metrics of one row of the dashboard. */
function section<Rows extends Record<string, Omit<MetricDefinition, 'section'>>>(
  name: MetricDefinition['section'],
  rows: Rows,
) {
  const named = Object.entries(rows).map(([key, row]) => [key, { ...row, section: name }]);
  return Object.fromEntries(named) as {
    [Name in keyof Rows]: Rows[Name] & { section: typeof name };
  };
}

/**
 * Every metric of ours. /metrics shows them, and the dashboard (dashboard.ts) has a panel for each;
 * docs/operations/metrics.md explains them.
 */
export const METRICS = {
  ...section('Tasks', {
    framewright_tasks: databaseGauge(
      'Live tasks',
      ['phase'],
      'Tasks that have not ended, by phase',
    ),
    framewright_oldest_task_seconds: databaseGauge(
      'Oldest task',
      ['phase'],
      'Seconds since the last transition of the task that has been in its phase the longest',
    ),
    framewright_task_seconds: histogram(
      'Create to end',
      ['outcome'],
      'Seconds from the create of a task to its end, by outcome',
      LONG,
    ),
    framewright_phase_seconds: histogram(
      'Time in a phase',
      ['phase'],
      'Seconds that a task was in a phase before it moved on',
      LONG,
    ),
    framewright_held_tasks: databaseGauge(
      'Held tasks',
      ['cause'],
      'Held tasks, by what is not known: acceptance or outcome',
    ),
    framewright_oldest_held_seconds: databaseGauge(
      'Oldest held task',
      ['cause'],
      'Seconds since the task held the longest was first held, by cause',
    ),
    framewright_reconciled_attempts: databaseGauge(
      'Reconciled attempts',
      ['by', 'result'],
      'Attempts with an outcome after the submit, by callback, find, operator or assumption',
    ),
  }),
  ...section('Requests', {
    framewright_http_responses_total: counter(
      'Responses',
      ['route', 'status'],
      'Responses, by route and status',
    ),
    framewright_http_response_seconds: histogram(
      'Response time',
      ['route'],
      'Seconds from request to response, by route; a create includes its wait',
      FAST,
    ),
    framewright_batch_items: histogram(
      'Calls of a batch',
      ['batch'],
      'Calls that shared one run of work, by batch',
      ITEMS,
    ),
    framewright_batch_seconds: histogram(
      'Time of a batch',
      ['batch'],
      'Seconds that one run of a batch took',
      FAST,
    ),
  }),
  ...section('Workers', {
    framewright_build_info: processGauge(
      'Versions',
      ['version'],
      'Always 1, with the version of the process',
    ),
    framewright_due_tasks: databaseGauge(
      'Due tasks',
      ['pool'],
      'Tasks whose next step is due and that no worker has leased, by worker pool',
    ),
    framewright_oldest_due_seconds: databaseGauge(
      'Oldest due task',
      ['pool'],
      'Seconds for which the next step of a task without a lease has been due, by worker pool',
    ),
    framewright_live_workers: databaseGauge(
      'Workers',
      ['provider'],
      'Running worker processes that have the provider',
    ),
    framewright_pool_tasks: processGauge(
      'Tasks at work',
      ['pool'],
      'Tasks that this process works on, by worker pool',
    ),
    framewright_pool_places: processGauge(
      'Places',
      ['pool'],
      'Tasks that this process can work on at a time, by worker pool',
    ),
    framewright_claim_seconds: histogram(
      'Time of a claim',
      ['pool'],
      'Seconds that a claim of due tasks took, by worker pool',
      FAST,
    ),
    framewright_claimed_tasks_total: counter(
      'Claimed tasks',
      ['pool'],
      'Tasks that were claimed, by worker pool',
    ),
    framewright_step_seconds: histogram(
      'Time of a step',
      ['phase', 'result'],
      'Seconds that a step took, by phase and result: moved, postponed, superseded or failed',
      STEP,
    ),
    framewright_periodic_runs_total: counter(
      'Periodic jobs',
      ['work', 'result'],
      'Runs of the periodic jobs of the process, by result: done or failed',
    ),
  }),
  ...section('Providers', {
    framewright_provider_calls_total: counter(
      'Calls of providers',
      ['provider', 'call', 'outcome'],
      'Calls of providers, by outcome; a rejected submit is rejected_request|busy|operator',
    ),
    framewright_provider_call_seconds: histogram(
      'Time of a call',
      ['provider', 'call'],
      'Seconds that a call of a provider takes, by call',
      CALL,
    ),
    framewright_callbacks_total: counter(
      'Callbacks',
      ['provider', 'result'],
      'Callbacks of providers: received, forged, no_such_path, or failed in the service',
    ),
    framewright_closed_seconds: databaseGauge(
      'Closed',
      ['subject', 'cause'],
      'Seconds since a provider, or all creates, were closed by an outage or an operator',
    ),
    framewright_unserved_tasks: databaseGauge(
      'Unserved tasks',
      ['provider'],
      'Tasks that have not ended and whose provider no running worker has',
    ),
    framewright_orphan_jobs: databaseGauge(
      'Orphan jobs',
      ['provider', 'state'],
      'Provider jobs that no task uses, by state: confirmed, suspected, unknown_there',
    ),
    framewright_billed_failures: databaseGauge(
      'Billed failures',
      ['provider'],
      'Failed and refunded tasks that the provider charges for',
    ),
  }),
  ...section('Credits', {
    framewright_reserved_credits: databaseGauge(
      'Reserved',
      ['phase'],
      'Credits reserved for tasks that have not ended, by phase',
    ),
    framewright_held_credits: databaseGauge(
      'Of held tasks',
      ['cause'],
      'Credits of held tasks, by cause',
    ),
    framewright_moved_credits_total: counter(
      'Moved',
      ['movement'],
      'Credits that this process moved for tasks: reserve, capture, refund',
    ),
    framewright_transfers_total: counter(
      'Transfers',
      ['movement'],
      'Transfers that this process made for tasks: reserve, capture, refund',
    ),
    framewright_billed_failure_credits: databaseGauge(
      'Of billed failures',
      ['provider'],
      'Credits refunded for tasks that the provider charges for',
    ),
    framewright_mismatched_orders: databaseGauge(
      'Mismatched orders',
      ['kind'],
      'Orders of the last week that were paid, not refunded, and brought no credits',
    ),
  }),
  ...section('Database', {
    framewright_database_seconds: histogram(
      'Time of its work',
      ['part'],
      'Seconds of the wait for a connection, and of a query or transaction on it',
      FAST,
    ),
  }),
  ...section('Files', {
    framewright_storage_seconds: histogram(
      'Time of the storage',
      ['operation', 'outcome'],
      'Seconds that an operation of the storage took, by outcome: done, missing or error',
      FAST,
    ),
    framewright_disk_bytes: processGauge(
      'Disk',
      ['part'],
      'Of the disk under DATA_DIR: free, reserved for outputs, and what must stay free',
    ),
    framewright_vanished_files_total: counter(
      'Vanished files',
      ['role'],
      'Reads of files that should be in the storage, but are not',
    ),
    framewright_decode_seconds: histogram(
      'Time of a decode',
      ['kind', 'outcome'],
      'Seconds until a file was decoded, with its wait: measured, stopped, refused or error',
      STEP,
    ),
    framewright_poster_seconds: histogram(
      'Time of a poster',
      ['outcome'],
      'Seconds that a try to draw a poster took, by outcome: drawn, refused, void or failed',
      STEP,
    ),
    framewright_objects_to_delete: databaseGauge(
      'Files to delete',
      ['role'],
      'Objects that are marked for deletion and still have a file',
    ),
  }),
  ...section('Webhooks', {
    framewright_webhook_seconds: histogram(
      'Time of a delivery',
      ['outcome'],
      'Seconds that a try to deliver an event took: delivered, refused or unreachable',
      CALL,
    ),
    framewright_waiting_deliveries: databaseGauge(
      'Waiting deliveries',
      ['state'],
      'Deliveries that wait, by the state of their endpoint: sound, failing or disabled',
    ),
    framewright_oldest_delivery_seconds: databaseGauge(
      'Oldest due delivery',
      ['state'],
      'Seconds for which a delivery has been due, by the state of its endpoint',
    ),
    framewright_webhook_endpoints: databaseGauge(
      'Endpoints',
      ['state'],
      'Endpoints of customers, by state',
    ),
  }),
};

export type MetricName = keyof typeof METRICS;

/** The names of the metrics of these kinds. */
type NamesOf<Kind extends MetricKind> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

export type CounterName = NamesOf<'counter'>;
export type HistogramName = NamesOf<'histogram'>;
export type ProcessGaugeName = NamesOf<'process gauge'>;
export type DatabaseGaugeName = NamesOf<'database gauge'>;

/** The definition of a metric, without the knowledge of which one it is. */
export function metric(name: MetricName): MetricDefinition {
  return METRICS[name];
}
