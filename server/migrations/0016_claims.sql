-- oldest-program: 0013
-- How many tasks of an account are fetching their files. It is volatile, so it sees what was
-- committed until it is called, also after the calling statement has waited for a lock.
create function fetching_tasks(account text) returns bigint language sql volatile as $$
  select count(*) from tasks
  where account_id = account and phase in ('reserved', 'ingesting')
    and request->>'mode' <> 'text-to-video' and leased_until > (select clock_now())
$$;

-- The worker processes. A worker that was not seen for a while is dead.
create table workers (
  id text primary key,
  -- The providers that it has configured.
  providers text[] not null,
  -- How many tasks it ingests at a time.
  ingest_places integer not null,
  seen_at timestamptz not null
);

-- When the newest turn was taken: if that is in the future, the clock was set back.
alter table provider_turns add column taken_at timestamptz;

drop index tasks_due;
