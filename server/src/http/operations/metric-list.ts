/**
 * counter, histogram: of this process, since its start. process gauge: of this process, now.
 * database gauge: read from the database, so each process shows the same value.
 */
export type MetricKind = 'counter' | 'histogram' | 'process gauge' | 'database gauge';

export interface MetricDefinition {
  kind: MetricKind;
  help: string;
  /** Label names. Each has few values, known in advance: no ids, no client texts. */
  labels: string[];
  /** Upper bounds of a histogram's buckets, in seconds or items. */
  buckets?: number[];
}

const FAST = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
const CALL = [0.03, 0.1, 0.3, 1, 3, 10, 30];
const STEP = [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];
const LONG = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3600, 10_800];
const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const metricKind =
  <Kind extends MetricKind>(kind: Kind) =>
  (labels: string[], help: string) => ({ kind, labels, help });

const counter = metricKind('counter');
const processGauge = metricKind('process gauge');
const databaseGauge = metricKind('database gauge');

function histogram(labels: string[], help: string, buckets: number[]) {
  return { ...metricKind('histogram')(labels, help), buckets };
}

/** Each is explained in docs/operators/metrics.md and has a panel in dashboard.json. */
export const METRICS = {
  framewright_tasks: databaseGauge(['phase'], 'Tasks that have not ended'),
  framewright_oldest_task_seconds: databaseGauge(
    ['phase'],
    'How long the oldest task has been in its phase',
  ),
  framewright_task_seconds: histogram(['outcome'], 'From create to end', LONG),
  framewright_phase_seconds: histogram(['phase'], 'Time that a task spent in a phase', LONG),
  framewright_held_tasks: databaseGauge(
    ['cause'],
    'Held tasks, by what is unknown: acceptance or outcome',
  ),
  framewright_oldest_held_seconds: databaseGauge(
    ['cause'],
    'How long the oldest held task has been held',
  ),
  framewright_reconciled_attempts: databaseGauge(
    ['by', 'result'],
    'Attempts whose outcome became known after the submit',
  ),
  framewright_http_responses_total: counter(['route', 'status'], 'Responses'),
  framewright_http_response_seconds: histogram(
    ['route'],
    'From request to response, with the wait of a create',
    FAST,
  ),
  framewright_batch_items: histogram(['batch'], 'Calls per batch', ITEMS),
  framewright_batch_seconds: histogram(['batch'], 'Time of a batch', FAST),
  framewright_build_info: processGauge(['version'], 'Always 1'),
  framewright_due_tasks: databaseGauge(['pool'], 'Due tasks that no worker has leased'),
  framewright_oldest_due_seconds: databaseGauge(
    ['pool'],
    'How long the oldest due task has been due',
  ),
  framewright_live_workers: databaseGauge(['provider'], 'Running workers that have the provider'),
  framewright_pool_tasks: processGauge(['pool'], 'Slots in use'),
  framewright_pool_places: processGauge(['pool'], 'Slots'),
  framewright_claim_seconds: histogram(['pool'], 'Time that a claim took', FAST),
  framewright_claimed_tasks_total: counter(['pool'], 'Claimed tasks'),
  framewright_step_seconds: histogram(
    ['phase', 'result'],
    'Time that a step took: moved, postponed, superseded or failed',
    STEP,
  ),
  framewright_periodic_runs_total: counter(
    ['work', 'result'],
    'Runs of periodic jobs: done or failed',
  ),
  framewright_provider_calls_total: counter(['provider', 'call', 'outcome'], 'Calls to providers'),
  framewright_provider_call_seconds: histogram(
    ['provider', 'call'],
    'Time that a call to a provider took',
    CALL,
  ),
  framewright_verdicts_total: counter(
    ['verdict', 'source'],
    'Moderated requests; source failure: the check failed, and the task went on',
  ),
  framewright_oldest_report_seconds: databaseGauge(
    ['reason'],
    'How long the oldest report of a video has waited for a decision',
  ),
  framewright_report_decision_seconds: databaseGauge(
    ['reason'],
    'Median time from report to decision, over 30 days',
  ),
  framewright_callbacks_total: counter(['provider', 'result'], 'Callbacks of providers'),
  framewright_closed_seconds: databaseGauge(
    ['subject', 'cause'],
    'How long something has been closed',
  ),
  framewright_unserved_tasks: databaseGauge(
    ['provider'],
    'Live tasks whose provider no running worker has',
  ),
  framewright_orphan_jobs: databaseGauge(
    ['provider', 'state'],
    'Orphan jobs: confirmed, suspected, unknown_there',
  ),
  framewright_billed_failures: databaseGauge(
    ['provider'],
    'Refunded tasks that the provider charges for',
  ),
  framewright_reserved_credits: databaseGauge(['phase'], 'Reserved credits of live tasks'),
  framewright_held_credits: databaseGauge(['cause'], 'Credits of held tasks'),
  framewright_moved_credits_total: counter(
    ['movement'],
    'Credits moved for tasks: reserve, capture, refund',
  ),
  framewright_transfers_total: counter(
    ['movement'],
    'Transfers for tasks: reserve, capture, refund',
  ),
  framewright_billed_failure_credits: databaseGauge(['provider'], 'Credits of billed failures'),
  framewright_margin: databaseGauge(
    ['provider', 'model', 'currency'],
    'Worth of captured credits less cost, of the newest thousand tasks of a day',
  ),
  framewright_differing_costs: databaseGauge(
    ['provider', 'model', 'currency'],
    'Of the newest thousand tasks of a day, those that cost over a tenth more or less than the terms',
  ),
  framewright_mismatched_orders: databaseGauge(
    ['kind'],
    'Orders of the last week that are paid, not refunded, and brought no credits',
  ),
  framewright_database_seconds: histogram(
    ['part'],
    'Wait for a connection, and time of a query or transaction on it',
    FAST,
  ),
  framewright_storage_seconds: histogram(
    ['operation', 'outcome'],
    'Storage operations: done, missing or error',
    FAST,
  ),
  framewright_disk_bytes: processGauge(
    ['part'],
    'Disk of DATA_DIR: free, reserved for outputs, and floors',
  ),
  framewright_vanished_files_total: counter(['role'], 'Reads of files that the storage has lost'),
  framewright_decode_seconds: histogram(
    ['kind', 'outcome'],
    'Wait and decoding of a file: measured, stopped, refused or error',
    STEP,
  ),
  framewright_signing_seconds: histogram(
    ['outcome'],
    'Signing of a video: signed, unstamped (no time stamp), failed, given_up, or why it is unsigned',
    STEP,
  ),
  framewright_certificate_expiry_timestamp_seconds: processGauge(
    [],
    'When the certificate of Content Credentials expires',
  ),
  framewright_poster_seconds: histogram(['outcome'], 'Storing of a poster: drawn or failed', STEP),
  framewright_objects_to_delete: databaseGauge(['role'], 'Files that a worker has yet to delete'),
  framewright_webhook_seconds: histogram(
    ['outcome'],
    'Tries to deliver an event: delivered, refused or unreachable',
    CALL,
  ),
  framewright_waiting_deliveries: databaseGauge(
    ['state'],
    'Deliveries that wait, by endpoint: sound, failing or disabled',
  ),
  framewright_oldest_delivery_seconds: databaseGauge(
    ['state'],
    'How long the oldest delivery has been due',
  ),
  framewright_webhook_endpoints: databaseGauge(['state'], 'Webhook endpoints of customers'),
};

export type MetricName = keyof typeof METRICS;

type NamesOf<Kind extends MetricKind> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

export type CounterName = NamesOf<'counter'>;
export type HistogramName = NamesOf<'histogram'>;
export type ProcessGaugeName = NamesOf<'process gauge'>;
export type DatabaseGaugeName = NamesOf<'database gauge'>;

/** The definition of a metric, widened from its literal type. */
export function metric(name: MetricName): MetricDefinition {
  return METRICS[name];
}
