-- oldest-program: 0013
-- One row that each worker advances every few seconds. A database that was restored from a back-up, or
-- replaced by a replica that lags behind, has an older row than the workers remember, or another server.
create table database_marks (
  one_row boolean primary key default true check (one_row),
  epoch uuid not null default gen_random_uuid(),
  -- Epochs that an operator ended by `framewright restored`.
  retired_epochs uuid[] not null default '{}',
  beat bigint not null default 0,
  -- Where the row was written last: the server, its timeline, and this table in it.
  system_identifier text,
  timeline text,
  table_oid text
) with (fillfactor = 50);
insert into database_marks default values;
-- While a recovery has not ended, no task is claimed and no attempt begins.
create table recoveries (
  id bigint generated always as identity primary key,
  began_at timestamptz not null default clock_now(),
  cause text not null,
  ended_at timestamptz
);
create unique index one_recovery_at_a_time on recoveries ((ended_at is null)) where ended_at is null;
