create table tasks (
  id text primary key,
  account_id text not null references accounts,
  surface text not null,
  idempotency_key text not null,
  phase text not null check (phase in
    ('reserved', 'ingesting', 'submitting', 'generating', 'archiving', 'held', 'completed', 'failed')),
  held_cause text check (held_cause in ('acceptance', 'outcome')),
  -- The validated request, defaults filled in.
  request jsonb not null,
  seed bigint not null,
  -- What adaptive came to; null until the inputs are measured.
  aspect_ratio text,
  credits integer not null check (credits > 0),
  price_version integer not null,
  provider text not null,
  -- Announced: a client may count on this task. See docs/ARCHITECTURE.md.
  announced_at timestamptz,
  wait_until timestamptz not null,
  -- The work to do: when next, and leased by whom (a number that grows with each lease) until when.
  due_at timestamptz,
  lease bigint not null default 0,
  leased_until timestamptz,
  -- Failures of ours in the present phase, for the backoff.
  stumbles integer not null default 0,
  -- When the provider first was not available for this task: SUBMIT_RETRY_SECONDS count from here.
  refused_at timestamptz,
  inputs jsonb not null default '[]',
  provider_output jsonb,
  output_object_id text,
  output_facts jsonb,
  error_code text,
  error_message text,
  error_details jsonb,
  created_at timestamptz not null default clock_now(),
  updated_at timestamptz not null default clock_now(),
  constraint ended_tasks_have_no_work check ((phase in ('completed', 'failed')) = (due_at is null)),
  constraint held_tasks_have_a_cause check ((phase = 'held') = (held_cause is not null)),
  constraint failed_tasks_have_an_error check ((phase = 'failed') = (error_code is not null)),
  constraint completed_tasks_have_an_output check (phase <> 'completed' or output_object_id is not null)
) with (fillfactor = 80);
create index tasks_account on tasks (account_id, created_at);
create index tasks_due on tasks (due_at) where due_at is not null;
create index tasks_fetching on tasks (account_id)
  where leased_until is not null and phase in ('reserved', 'ingesting');
create index tasks_held on tasks (updated_at) where phase = 'held';

-- What happened to a task, transition by transition, for operators.
create table task_history (
  task_id text not null references tasks,
  at timestamptz not null default clock_now(),
  phase text not null,
  cause jsonb
);
create index task_history_task on task_history (task_id, at);

-- A key is armed while task_id is null: the next create with the same body starts a new task.
create table idempotency_keys (
  account_id text not null,
  surface text not null,
  key text not null,
  fingerprint bytea not null,
  task_id text,
  created_at timestamptz not null default clock_now(),
  primary key (account_id, surface, key)
);

-- One try to hand a task to a provider, on record before the first byte leaves.
create table attempts (
  id text primary key,
  task_id text not null references tasks,
  provider text not null,
  state text not null default 'open'
    check (state in ('open', 'unknown', 'accepted', 'rejected', 'not_sent', 'absent')),
  -- No byte of the submit leaves after this moment.
  send_before timestamptz not null,
  job_id text,
  cause jsonb,
  created_at timestamptz not null default clock_now(),
  resolved_at timestamptz,
  constraint accepted_attempts_have_a_job check ((state = 'accepted') = (job_id is not null))
);
create index attempts_task on attempts (task_id);
create unique index one_live_attempt on attempts (task_id)
  where state in ('open', 'unknown', 'accepted');
create unique index one_attempt_per_job on attempts (provider, job_id) where job_id is not null;
