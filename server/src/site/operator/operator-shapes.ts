// What the routes of the operator's console send, as their JSON: times are ISO 8601.

export interface OperatorTaskRow {
  id: string;
  account_id: string;
  phase: string;
  held_cause: string | null;
  provider: string;
  model: string;
  credits: number;
  created_at: string;
  updated_at: string;
  held_since?: string;
  due_at?: string;
}

interface OperatorEvidence {
  source: string;
  finding: Record<string, unknown>;
  times: number;
  first_at: string;
  last_at: string;
}

export interface OperatorAttempt {
  id: string;
  provider: string;
  state: string;
  job_id: string | null;
  send_before: string;
  created_at: string;
  outcome_at: string | null;
  outcome_by: string | null;
  cause: unknown;
  evidence: OperatorEvidence[];
}

export interface OperatorTask {
  id: string;
  account_id: string;
  surface: string;
  phase: string;
  held_cause: string | null;
  request: Record<string, unknown>;
  credits: number;
  provider: string;
  due_at: string | null;
  leased_until: string | null;
  error_code: string | null;
  error_message: string | null;
  output_object_id: string | null;
  created_at: string;
  updated_at: string;
  archived_at?: string;
  attempts: OperatorAttempt[];
  history: { at: string; phase: string; cause: unknown }[];
  objects: {
    id: string;
    role: string;
    state: string;
    size_bytes: number | null;
    taken_down_at: string | null;
  }[];
  orphan_jobs: { provider: string; job_id: string; state: string }[];
}

export interface OperatorProviders {
  items: {
    provider: string;
    state: 'open' | 'paused' | 'closed' | 'trying';
    since: string | null;
    until: string | null;
    reason: string | Record<string, unknown> | null;
    waiting_tasks: number;
  }[];
  /** Whether creates of all accounts are paused. */
  creates: 'open' | 'paused';
  since: string | null;
  reason: string | null;
}

export interface OperatorAccountRow {
  account_id: string;
  email: string;
  created_at: string;
  disabled_at: string | null;
  erased_at: string | null;
}

interface KindBalance {
  available: number;
  reserved: number;
  debt: number;
}

export interface OperatorActionRow {
  id: number;
  at: string;
  actor: string;
  command: string;
  target: string;
  reason: string | null;
  details: Record<string, unknown> | null;
}

export interface OperatorAccount extends OperatorAccountRow {
  valid_keys: number;
  paid: KindBalance;
  promotional: KindBalance;
  tasks: { phase: string; tasks: number }[];
  archived_tasks: number;
  lots: { kind: string; lot: string; available: number; reserved: number; expires_at: string }[];
  keys: {
    key_id: string;
    name: string | null;
    created_at: string;
    expires_at: string | null;
    revoked_at: string | null;
    monthly_cap: number | null;
    last_used_at: string | null;
    last_used_address: string | null;
  }[];
  actions: OperatorActionRow[];
}

export interface OperatorOrphan {
  provider: string;
  job_id: string;
  task_id: string;
  state: string;
  source: string;
  status: unknown;
  found_at: string;
  acknowledged_at: string | null;
}

export interface OperatorAudit {
  id: number;
  actor: string;
  started_at: string;
  ended_at: string | null;
  found: number | null;
  problems: string[] | null;
  failure: string | null;
}

export interface OperatorFigures {
  /** Of the whole database, now. */
  now: {
    live: { phase: string; tasks: number; credits: number; oldest_seconds: number }[];
    held: { cause: string; tasks: number; credits: number; oldest_seconds: number }[];
    orphans: { provider: string; state: string; jobs: number }[];
    losses: { provider: string; tasks: number; credits: number }[];
    closed: { subject: string; cause: string; seconds: number }[];
    due: { pool: string; tasks: number; oldest_seconds: number }[];
    workers: { provider: string; workers: number }[];
  };
  /** Of the process that answered, the oldest first. `at`: seconds since 1970; times in ms. */
  minutes: {
    at: number;
    responses: number;
    errors: number;
    limited: number;
    read_p50: number | null;
    read_p95: number | null;
    create_p95: number | null;
    calls: number;
    failed_calls: number;
    live: number | null;
    held: number | null;
    due: number | null;
  }[];
}

export interface OperatorMovement {
  id: number;
  at: string;
  kind: string;
  reason: string;
  credits: number;
  from: string;
  to: string;
  task_id: string | null;
  reference: string;
  note: string | null;
  available_after: number;
}

/** Amounts are in the smallest unit of the currency. */
export interface OperatorOrder {
  order_id: string;
  account_id: string;
  created_at: string;
  kind: string;
  offer: string;
  state: string;
  credits: number;
  booked: number;
  price: number;
  currency: string;
  refunded: number;
  disputed: number;
  dispute: string | null;
}
