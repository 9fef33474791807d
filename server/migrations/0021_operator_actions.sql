-- oldest-program: 0013
-- What operators changed by commands: one row per change, written in the transaction of the change.
create table operator_actions (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_now(),
  -- Who ran the command: the OS user and host, or the value of --by.
  actor text not null,
  -- The name of the command, such as 'accounts disable'.
  command text not null,
  -- The id of what was changed: an account, an API key, a task, an object, a provider.
  target text not null,
  reason text,
  -- More about the change, such as the amount and reference of a grant.
  details jsonb
);
create index operator_actions_target on operator_actions (target, id);
