-- oldest-program: 0013
-- What an operator paused: all creates ('creates'), or the submits of a provider (its name).
create table pauses (
  subject text primary key,
  reason text not null,
  paused_at timestamptz not null default clock_now()
);
