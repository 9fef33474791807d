alter table tasks
  -- When a provider took the task.
  add column accepted_at timestamptz,
  -- How often it was held for its outcome: the more often, the longer it rests.
  add column outcome_holds integer not null default 0,
  -- Of a failed task: whether the provider charges the operator all the same; null where nobody knows.
  add column provider_billed boolean;

alter table attempts
  -- Who found out what became of the attempt.
  add column resolved_by text check (resolved_by in ('sender', 'look_up', 'callback', 'operator')),
  -- Which account at which address it was sent to, as a digest: absence elsewhere proves nothing.
  add column provider_identity text;

update tasks set accepted_at = a.resolved_at from attempts a
  where a.task_id = tasks.id and a.state = 'accepted';

create index attempts_uncertain on attempts (provider, created_at) where state in ('open', 'unknown');
create index attempts_reconciled on attempts (resolved_by, state)
  where resolved_by in ('look_up', 'callback');

-- What was learned of an attempt, and from whom. The same finding again only counts up.
create table evidence (
  attempt_id text not null references attempts,
  source text not null check (source in ('sender', 'look_up', 'callback', 'operator')),
  finding jsonb not null,
  digest text not null,
  times integer not null default 1,
  first_at timestamptz not null default clock_now(),
  last_at timestamptz not null default clock_now(),
  primary key (attempt_id, source, digest)
);

create index evidence_decisions on evidence (attempt_id) where source = 'operator';
create index evidence_jobs on evidence ((finding->>'job')) where source = 'callback';

-- Jobs that an attempt has at its provider and that no task uses: they came to light after the task
-- had ended, or beside the job that it got. suspected: an unsigned callback named it, nobody looked yet.
create table orphan_jobs (
  provider text not null,
  job_id text not null,
  attempt_id text not null references attempts,
  task_id text not null references tasks,
  source text not null check (source in ('sender', 'callback')),
  state text not null check (state in ('suspected', 'confirmed', 'unknown_there')),
  status jsonb,
  found_at timestamptz not null default clock_now(),
  checked_at timestamptz,
  -- When it was told in the log.
  reported_at timestamptz,
  primary key (provider, job_id)
);
create index orphan_jobs_task on orphan_jobs (task_id);
create index orphan_jobs_suspected on orphan_jobs (found_at) where state = 'suspected';
create index orphan_jobs_unreported on orphan_jobs (found_at)
  where state = 'confirmed' and reported_at is null;

-- The operator's losses: few, and counted by the metrics.
create index tasks_billed_failures on tasks (provider) where provider_billed and phase = 'failed';
