-- The one clock of everything that is stored or compared across processes. Tests replace it.
create function clock_now() returns timestamptz language sql volatile as $$ select clock_timestamp() $$;
