import {
  CALL,
  FAST,
  ITEMS,
  LONG,
  type MetricDefinition,
  type MetricKind,
  STEP,
} from './metric-definition.ts';

const TASKS = {
  framewright_tasks: {
    kind: 'database gauge',
    section: 'Tasks',
    title: 'Live tasks',
    labels: ['phase'],
    help: 'Tasks that have not ended, by phase',
  },
  framewright_oldest_task_seconds: {
    kind: 'database gauge',
    section: 'Tasks',
    title: 'Oldest task',
    labels: ['phase'],
    help: 'Seconds since the last transition of the task that has been in its phase the longest',
  },
  framewright_task_seconds: {
    kind: 'histogram',
    section: 'Tasks',
    title: 'Create to end',
    labels: ['outcome'],
    help: 'Seconds from the create of a task to its end, by outcome',
    buckets: LONG,
  },
  framewright_phase_seconds: {
    kind: 'histogram',
    section: 'Tasks',
    title: 'Time in a phase',
    labels: ['phase'],
    help: 'Seconds that a task was in a phase before it moved on',
    buckets: LONG,
  },
  framewright_held_tasks: {
    kind: 'database gauge',
    section: 'Tasks',
    title: 'Held tasks',
    labels: ['cause'],
    help: 'Held tasks, by what is not known: acceptance or outcome',
  },
  framewright_oldest_held_seconds: {
    kind: 'database gauge',
    section: 'Tasks',
    title: 'Oldest held task',
    labels: ['cause'],
    help: 'Seconds since the task held the longest was first held, by cause',
  },
  framewright_reconciled_attempts: {
    kind: 'database gauge',
    section: 'Tasks',
    title: 'Reconciled attempts',
    help: 'Attempts with an outcome after the submit, by callback, find, operator or assumption',
    labels: ['by', 'result'],
  },
} as const satisfies Record<string, MetricDefinition>;

const REQUESTS = {
  framewright_http_responses_total: {
    kind: 'counter',
    section: 'Requests',
    title: 'Responses',
    labels: ['route', 'status'],
    help: 'Responses, by route and status',
  },
  framewright_http_response_seconds: {
    kind: 'histogram',
    section: 'Requests',
    title: 'Response time',
    labels: ['route'],
    help: 'Seconds from request to response, by route; a create includes its wait',
    buckets: FAST,
  },
  framewright_batch_items: {
    kind: 'histogram',
    section: 'Requests',
    title: 'Calls of a batch',
    labels: ['batch'],
    help: 'Calls that shared one run of work, by batch',
    buckets: ITEMS,
  },
  framewright_batch_seconds: {
    kind: 'histogram',
    section: 'Requests',
    title: 'Time of a batch',
    labels: ['batch'],
    help: 'Seconds that one run of a batch took',
    buckets: FAST,
  },
} as const satisfies Record<string, MetricDefinition>;

const WORKERS = {
  framewright_due_tasks: {
    kind: 'database gauge',
    section: 'Workers',
    title: 'Due tasks',
    labels: ['pool'],
    help: 'Tasks whose next step is due and that no worker has leased, by worker pool',
  },
  framewright_oldest_due_seconds: {
    kind: 'database gauge',
    section: 'Workers',
    title: 'Oldest due task',
    labels: ['pool'],
    help: 'Seconds for which the next step of a task without a lease has been due, by worker pool',
  },
  framewright_live_workers: {
    kind: 'database gauge',
    section: 'Workers',
    title: 'Workers',
    labels: ['provider'],
    help: 'Running worker processes that have the provider',
  },
  framewright_pool_tasks: {
    kind: 'process gauge',
    section: 'Workers',
    title: 'Tasks at work',
    labels: ['pool'],
    help: 'Tasks that this process works on, by worker pool',
  },
  framewright_pool_places: {
    kind: 'process gauge',
    section: 'Workers',
    title: 'Places',
    labels: ['pool'],
    help: 'Tasks that this process can work on at a time, by worker pool',
  },
  framewright_claim_seconds: {
    kind: 'histogram',
    section: 'Workers',
    title: 'Time of a claim',
    labels: ['pool'],
    help: 'Seconds that a claim of due tasks took, by worker pool',
    buckets: FAST,
  },
  framewright_claimed_tasks_total: {
    kind: 'counter',
    section: 'Workers',
    title: 'Claimed tasks',
    labels: ['pool'],
    help: 'Tasks that were claimed, by worker pool',
  },
  framewright_step_seconds: {
    kind: 'histogram',
    section: 'Workers',
    title: 'Time of a step',
    help: 'Seconds that a step took, by phase and result: moved, postponed, superseded or failed',
    labels: ['phase', 'result'],
    buckets: STEP,
  },
  framewright_periodic_runs_total: {
    kind: 'counter',
    section: 'Workers',
    title: 'Periodic jobs',
    labels: ['work', 'result'],
    help: 'Runs of the periodic jobs of the process, by result: done or failed',
  },
} as const satisfies Record<string, MetricDefinition>;

const PROVIDERS = {
  framewright_provider_calls_total: {
    kind: 'counter',
    section: 'Providers',
    title: 'Calls of providers',
    help: 'Calls of providers, by outcome; a rejected submit is rejected_request|busy|operator',
    labels: ['provider', 'call', 'outcome'],
  },
  framewright_provider_call_seconds: {
    kind: 'histogram',
    section: 'Providers',
    title: 'Time of a call',
    help: 'Seconds that a call of a provider takes, by call',
    labels: ['provider', 'call'],
    buckets: CALL,
  },
  framewright_callbacks_total: {
    kind: 'counter',
    section: 'Providers',
    title: 'Callbacks',
    help: 'Callbacks of providers: received, forged, no_such_path, or failed in the service',
    labels: ['provider', 'result'],
  },
  framewright_closed_seconds: {
    kind: 'database gauge',
    section: 'Providers',
    title: 'Closed',
    help: 'Seconds since a provider, or all creates, were closed by an outage or an operator',
    labels: ['subject', 'cause'],
  },
  framewright_unserved_tasks: {
    kind: 'database gauge',
    section: 'Providers',
    title: 'Unserved tasks',
    help: 'Tasks that have not ended and whose provider no running worker has',
    labels: ['provider'],
  },
  framewright_orphan_jobs: {
    kind: 'database gauge',
    section: 'Providers',
    title: 'Orphan jobs',
    help: 'Provider jobs that no task uses, by state: confirmed, suspected, unknown_there',
    labels: ['provider', 'state'],
  },
  framewright_billed_failures: {
    kind: 'database gauge',
    section: 'Providers',
    title: 'Billed failures',
    help: 'Failed and refunded tasks that the provider charges for',
    labels: ['provider'],
  },
} as const satisfies Record<string, MetricDefinition>;

const CREDITS = {
  framewright_reserved_credits: {
    kind: 'database gauge',
    section: 'Credits',
    title: 'Reserved',
    labels: ['phase'],
    help: 'Credits reserved for tasks that have not ended, by phase',
  },
  framewright_held_credits: {
    kind: 'database gauge',
    section: 'Credits',
    title: 'Of held tasks',
    labels: ['cause'],
    help: 'Credits of held tasks, by cause',
  },
  framewright_moved_credits_total: {
    kind: 'counter',
    section: 'Credits',
    title: 'Moved',
    labels: ['movement'],
    help: 'Credits that this process moved for tasks: reserve, capture, refund',
  },
  framewright_transfers_total: {
    kind: 'counter',
    section: 'Credits',
    title: 'Transfers',
    labels: ['movement'],
    help: 'Transfers that this process made for tasks: reserve, capture, refund',
  },
  framewright_billed_failure_credits: {
    kind: 'database gauge',
    section: 'Credits',
    title: 'Of billed failures',
    help: 'Credits refunded for tasks that the provider charges for',
    labels: ['provider'],
  },
  framewright_mismatched_orders: {
    kind: 'database gauge',
    section: 'Credits',
    title: 'Mismatched orders',
    labels: ['kind'],
    help: 'Orders of the last week that were paid, not refunded, and brought no credits',
  },
} as const satisfies Record<string, MetricDefinition>;

const DATABASE_AND_FILES = {
  framewright_database_seconds: {
    kind: 'histogram',
    section: 'Database',
    title: 'Time of its work',
    labels: ['part'],
    help: 'Seconds of the wait for a connection, and of a query or transaction on it',
    buckets: FAST,
  },
  framewright_storage_seconds: {
    kind: 'histogram',
    section: 'Files',
    title: 'Time of the storage',
    help: 'Seconds that an operation of the storage took, by outcome: done, missing or error',
    labels: ['operation', 'outcome'],
    buckets: FAST,
  },
  framewright_disk_bytes: {
    kind: 'process gauge',
    section: 'Files',
    title: 'Disk',
    labels: ['part'],
    help: 'Of the disk under DATA_DIR: free, reserved for outputs, and what must stay free',
  },
  framewright_vanished_files_total: {
    kind: 'counter',
    section: 'Files',
    title: 'Vanished files',
    labels: ['role'],
    help: 'Reads of files that should be in the storage, but are not',
  },
  framewright_decode_seconds: {
    kind: 'histogram',
    section: 'Files',
    title: 'Time of a decode',
    help: 'Seconds until a file was decoded, with its wait: measured, stopped, refused or error',
    labels: ['kind', 'outcome'],
    buckets: STEP,
  },
  framewright_poster_seconds: {
    kind: 'histogram',
    section: 'Files',
    title: 'Time of a poster',
    labels: ['outcome'],
    help: 'Seconds that a try to draw a poster took, by outcome: drawn, refused, void or failed',
    buckets: STEP,
  },
  framewright_objects_to_delete: {
    kind: 'database gauge',
    section: 'Files',
    title: 'Files to delete',
    labels: ['role'],
    help: 'Objects that are marked for deletion and still have a file',
  },
} as const satisfies Record<string, MetricDefinition>;

const WEBHOOKS = {
  framewright_webhook_seconds: {
    kind: 'histogram',
    section: 'Webhooks',
    title: 'Time of a delivery',
    labels: ['outcome'],
    help: 'Seconds that a try to deliver an event took: delivered, refused or unreachable',
    buckets: CALL,
  },
  framewright_waiting_deliveries: {
    kind: 'database gauge',
    section: 'Webhooks',
    title: 'Waiting deliveries',
    labels: ['state'],
    help: 'Deliveries that wait, by the state of their endpoint: sound, failing or disabled',
  },
  framewright_oldest_delivery_seconds: {
    kind: 'database gauge',
    section: 'Webhooks',
    title: 'Oldest due delivery',
    labels: ['state'],
    help: 'Seconds for which a delivery has been due, by the state of its endpoint',
  },
  framewright_webhook_endpoints: {
    kind: 'database gauge',
    section: 'Webhooks',
    title: 'Endpoints',
    labels: ['state'],
    help: 'Endpoints of customers, by state',
  },
} as const satisfies Record<string, MetricDefinition>;

/**
 * Every metric of ours. /metrics shows them, and the dashboard (dashboard.ts) has a panel for each;
 * docs/operations/metrics.md explains them.
 */
export const METRICS = {
  ...TASKS,
  ...REQUESTS,
  ...WORKERS,
  ...PROVIDERS,
  ...CREDITS,
  ...DATABASE_AND_FILES,
  ...WEBHOOKS,
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
