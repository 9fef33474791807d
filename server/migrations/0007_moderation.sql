-- oldest-program: 0001

-- moderation (docs/decisions/0067-moderation.md) ----------------------------------------------------
-- What was decided about a task before its submit. The first verdict stays, over retries; an
-- operator's decision replaces `review`.
create table moderation_verdicts (
  task_id text primary key,
  verdict text not null check (verdict in ('allow', 'deny', 'review')),
  -- `failure`: the service that moderates could not be asked, and the installation goes on then.
  source text not null check (source in ('words', 'service', 'operator', 'failure')),
  reason text,
  created_at timestamptz not null default clock_now()
);

-- `review`: an operator decides about the task. The old check was narrower: no row breaks this one.
alter table tasks drop constraint tasks_phase_check, add constraint tasks_phase_check check (phase in
  ('reserved', 'ingesting', 'review', 'submitting', 'generating', 'archiving', 'held', 'completed',
   'failed')) not valid;
