-- oldest-program: 0013
-- One row: the latest time that a worker read from the database's clock. A clock that is behind it was
-- set back.
create table clock_marks (
  one_row boolean primary key default true check (one_row),
  latest timestamptz not null
) with (fillfactor = 50);
insert into clock_marks (latest) values (clock_now());
