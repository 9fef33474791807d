-- oldest-program: 0013
-- An operator removed the file before the end of its retention.
alter table objects add column taken_down_at timestamptz;
-- The personal data of the account was removed.
alter table accounts add column erased_at timestamptz;
-- An operator has seen the orphan job: it is not listed and not counted any more.
alter table orphan_jobs add column acknowledged_at timestamptz;
-- A secret signs from signs_from on (null: at once) and is accepted until valid_until (null: for ever).
alter table delivery_secrets add column signs_from timestamptz, add column valid_until timestamptz;

-- Requests of operators to cancel the job of an accepted task at its provider.
create table cancel_requests (
  task_id text primary key,
  -- requested: the provider was not asked yet. accepted: it cancels the job, or has cancelled it.
  state text not null default 'requested' check (state in ('requested', 'accepted', 'refused')),
  requested_at timestamptz not null default clock_now(),
  -- When a worker may ask the provider; later after a failure.
  ask_after timestamptz not null default clock_now(),
  -- The provider's answer, or the last failure to ask it.
  cause text
);
create index cancel_requests_open on cancel_requests (ask_after) where state = 'requested';
