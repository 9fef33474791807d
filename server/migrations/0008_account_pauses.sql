-- oldest-program: 0001

-- An account whose content was refused too often gets no new live tasks until `paused_until`.
create table account_pauses (
  account_id text primary key,
  paused_at timestamptz not null default clock_now(),
  -- Refusals count from here on, also when an operator ended the pause early.
  paused_until timestamptz not null
);
