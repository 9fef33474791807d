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
    'Seconds for which the oldest task has been in its phase',
  ),
  framewright_task_seconds: histogram(
    ['outcome'],
    'Seconds from the create of a task to its end',
    LONG,
  ),
  framewright_phase_seconds: histogram(
    ['phase'],
    'Seconds that a task was in a phase before it moved on',
    LONG,
  ),
  framewright_held_tasks: databaseGauge(
    ['cause'],
    'Held tasks, by what is not known: acceptance or outcome',
  ),
  framewright_oldest_held_seconds: databaseGauge(
    ['cause'],
    'Seconds since the task held the longest was first held',
  ),
  framewright_reconciled_attempts: databaseGauge(
    ['by', 'result'],
    'Attempts whose outcome became known after the submit, by source and result',
  ),
  framewright_http_responses_total: counter(['route', 'status'], 'Responses'),
  framewright_http_response_seconds: histogram(
    ['route'],
    'Seconds from request to response; a create includes its wait',
    FAST,
  ),
  framewright_batch_items: histogram(['batch'], 'Calls that one run of a batch served', ITEMS),
  framewright_batch_seconds: histogram(['batch'], 'Seconds that one run of a batch took', FAST),
  framewright_build_info: processGauge(['version'], 'Always 1, with the version of the process'),
  framewright_due_tasks: databaseGauge(
    ['pool'],
    'Tasks whose next step is due and that no worker has leased',
  ),
  framewright_oldest_due_seconds: databaseGauge(
    ['pool'],
    'Seconds for which the longest-due step of a task without a lease has been due',
  ),
  framewright_live_workers: databaseGauge(
    ['provider'],
    'Running worker processes that have the provider',
  ),
  framewright_pool_tasks: processGauge(['pool'], 'Tasks that this process works on'),
  framewright_pool_places: processGauge(['pool'], 'Tasks that this process can work on at a time'),
  framewright_claim_seconds: histogram(['pool'], 'Seconds that a claim of due tasks took', FAST),
  framewright_claimed_tasks_total: counter(['pool'], 'Tasks that were claimed'),
  framewright_step_seconds: histogram(
    ['phase', 'result'],
    'Seconds that a step took: moved, postponed, superseded or failed',
    STEP,
  ),
  framewright_periodic_runs_total: counter(
    ['work', 'result'],
    'Runs of the periodic jobs of the process: done or failed',
  ),
  framewright_provider_calls_total: counter(
    ['provider', 'call', 'outcome'],
    'Calls to providers; a rejected submit is rejected_request, rejected_busy or rejected_operator',
  ),
  framewright_provider_call_seconds: histogram(
    ['provider', 'call'],
    'Seconds that a call to a provider takes',
    CALL,
  ),
  framewright_verdicts_total: counter(
    ['verdict', 'source'],
    'Requests checked before their submit, by verdict and its source; source failure: the check failed, and the task went on',
  ),
  framewright_oldest_report_seconds: databaseGauge(
    ['reason'],
    'Seconds for which a report of a video has waited for a decision',
  ),
  framewright_report_decision_seconds: databaseGauge(
    ['reason'],
    'Median seconds from a report of a video to its decision, in the last 30 days',
  ),
  framewright_callbacks_total: counter(
    ['provider', 'result'],
    'Callbacks of providers: received, forged, no_such_path, or failed in the service',
  ),
  framewright_closed_seconds: databaseGauge(
    ['subject', 'cause'],
    'Seconds since a provider, or all creates, were closed by an outage or an operator',
  ),
  framewright_unserved_tasks: databaseGauge(
    ['provider'],
    'Tasks that have not ended and whose provider no running worker has',
  ),
  framewright_orphan_jobs: databaseGauge(
    ['provider', 'state'],
    'Provider jobs that no task uses: confirmed, suspected, unknown_there',
  ),
  framewright_billed_failures: databaseGauge(
    ['provider'],
    'Failed and refunded tasks that the provider charges for',
  ),
  framewright_reserved_credits: databaseGauge(
    ['phase'],
    'Credits reserved for tasks that have not ended',
  ),
  framewright_held_credits: databaseGauge(['cause'], 'Credits of held tasks'),
  framewright_moved_credits_total: counter(
    ['movement'],
    'Credits that this process moved for tasks: reserve, capture, refund',
  ),
  framewright_transfers_total: counter(
    ['movement'],
    'Transfers that this process made for tasks: reserve, capture, refund',
  ),
  framewright_billed_failure_credits: databaseGauge(
    ['provider'],
    'Credits refunded for tasks that the provider charges for',
  ),
  framewright_margin: databaseGauge(
    ['provider', 'model', 'currency'],
    'Worth of the captured credits less the cost, of the newest thousand tasks of a day',
  ),
  framewright_differing_costs: databaseGauge(
    ['provider', 'model', 'currency'],
    'Tasks of the last 24 hours, of the newest thousand, whose cost differs from the terms by more than a tenth',
  ),
  framewright_mismatched_orders: databaseGauge(
    ['kind'],
    'Orders of the last week that were paid, not refunded, and brought no credits',
  ),
  framewright_database_seconds: histogram(
    ['part'],
    'Seconds of the wait for a connection, and of a query or transaction on it',
    FAST,
  ),
  framewright_storage_seconds: histogram(
    ['operation', 'outcome'],
    'Seconds that an operation of the storage took: done, missing or error',
    FAST,
  ),
  framewright_disk_bytes: processGauge(
    ['part'],
    'Of the disk under DATA_DIR: free, reserved for outputs, and what must stay free',
  ),
  framewright_vanished_files_total: counter(
    ['role'],
    'Reads of files that should be in the storage, but are not',
  ),
  framewright_decode_seconds: histogram(
    ['kind', 'outcome'],
    'Seconds until a file was decoded, with its wait: measured, stopped, refused or error',
    STEP,
  ),
  framewright_signing_seconds: histogram(
    ['outcome'],
    'Seconds that adding Content Credentials took, by outcome: signed, unstamped (without a time stamp), failed, given_up, or why the video is unsigned',
    STEP,
  ),
  framewright_certificate_expiry_timestamp_seconds: processGauge(
    [],
    'When the certificate of the Content Credentials expires, in seconds since 1970',
  ),
  framewright_poster_seconds: histogram(
    ['outcome'],
    'Seconds that storing a poster took: drawn or failed',
    STEP,
  ),
  framewright_objects_to_delete: databaseGauge(
    ['role'],
    'Objects that are marked for deletion and still have a file',
  ),
  framewright_webhook_seconds: histogram(
    ['outcome'],
    'Seconds that a try to deliver an event took: delivered, refused or unreachable',
    CALL,
  ),
  framewright_waiting_deliveries: databaseGauge(
    ['state'],
    'Deliveries that wait, by their endpoint: sound, failing or disabled',
  ),
  framewright_oldest_delivery_seconds: databaseGauge(
    ['state'],
    'Seconds for which the oldest due delivery has been due',
  ),
  framewright_webhook_endpoints: databaseGauge(['state'], 'Endpoints of customers'),
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
