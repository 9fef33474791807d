-- The jobs of the local renderer: its own record, as a foreign provider would keep one. barred: a
-- look-up found no job of that attempt, so none may come any more.
create table local_jobs (
  id text primary key,
  spec jsonb not null,
  state text not null default 'queued' check (state in ('barred', 'queued', 'rendering', 'succeeded', 'failed')),
  leased_until timestamptz,
  -- Grows with each start; only the latest start may finish the job.
  renders integer not null default 0,
  object_id text,
  cause text,
  created_at timestamptz not null default clock_now(),
  updated_at timestamptz not null default clock_now()
);
create index local_jobs_waiting on local_jobs (created_at) where state in ('queued', 'rendering');
