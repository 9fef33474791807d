-- oldest-program: 0013
-- Audits that operators started in the console.
create table audit_runs (
  id bigint generated always as identity primary key,
  actor text not null,
  started_at timestamptz not null default clock_now(),
  -- Set every few seconds while it runs. If it is old, the process has died.
  seen_at timestamptz not null default clock_now(),
  ended_at timestamptz,
  -- Null of an audit that could not be finished.
  found integer,
  problems jsonb,
  failure text
);
create unique index one_audit_at_a_time on audit_runs ((ended_at is null)) where ended_at is null;
