-- oldest-program: 0013
-- What was observed of a provider that does not take jobs. A row without closed_until only counts
-- failures.
create table provider_outages (
  provider text primary key,
  -- Submits in a row that failed, and when the last one did.
  failures integer not null,
  failed_at timestamptz not null,
  cause jsonb not null,
  -- How often in a row the provider was closed: each time is longer.
  closings integer not null default 0,
  closed_since timestamptz,
  -- Until then nothing is submitted; after it, one submit at a time, until one gets through.
  closed_until timestamptz,
  -- The one submit under way after closed_until ends before this time.
  probe_until timestamptz,
  -- After closed_until, the next create passes at this time.
  next_create_at timestamptz,
  constraint closed_providers_have_times check ((closed_until is null) = (closed_since is null))
);
