-- oldest-program: 0013
-- transaction: none
-- No index names leased_until: a lease is renewed without an entry in any index (a HOT update).

-- Due tasks of a worker pool, per provider. The expression is POOL in tasks/lease.ts.
create index concurrently tasks_due_in_pool on tasks (
  (case when phase in ('reserved', 'ingesting') and request->>'mode' <> 'text-to-video' then 'ingest'
    when phase in ('reserved', 'ingesting', 'submitting') then 'submit'
    when phase = 'archiving' then 'archive'
    when held_cause = 'acceptance' then 'find'
    else 'poll' end), provider, due_at) where due_at is not null;
-- Tasks that fetch files or wait to, per account.
create index concurrently tasks_ingest on tasks (account_id, due_at)
  where phase in ('reserved', 'ingesting') and request->>'mode' <> 'text-to-video';
create index concurrently tasks_created on tasks (created_at);
-- Submits under way, and those whose sender died.
create index concurrently attempts_in_flight on attempts (provider) where state = 'in_flight';
-- Attempts that may own a job that looks like another attempt's.
create index concurrently attempts_with_possible_job on attempts (provider, send_before)
  where state in ('in_flight', 'unknown') or (state = 'absent' and outcome_by in ('operator', 'assumption'));
create index concurrently objects_deleting on objects (delete_retry_at) where state = 'deleting';
create index concurrently objects_writing on objects (created_at) where state = 'writing';

drop index concurrently if exists tasks_fetching;
drop index concurrently if exists attempts_uncertain;
drop index concurrently if exists objects_unfinished;
