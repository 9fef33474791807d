-- oldest-program: 0013
-- Files that people upload on the website, to use them in tasks (docs/decisions/0029-web-tasks.md). The
-- program before this file keeps working: it makes none, and it deletes expired ones like other objects.
-- The task_id of an upload's object is its account.
alter table objects
  drop constraint objects_role_check,
  add constraint objects_role_check check (role in ('input', 'output', 'render', 'upload')) not valid;

create table uploads (
  object_id text primary key references objects,
  account_id text not null references accounts,
  kind text not null check (kind in ('image', 'video')),
  -- As displayed: the orientation is applied.
  width integer not null,
  height integer not null,
  -- Of a video, as measured.
  duration_seconds float8,
  created_at timestamptz not null default clock_now()
);
create index uploads_account on uploads (account_id);
