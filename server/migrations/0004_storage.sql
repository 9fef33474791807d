-- A stored file. The row commits before its first byte is written, and its name is never used again.
create table objects (
  id text primary key,
  task_id text not null,
  role text not null check (role in ('input', 'output', 'render')),
  state text not null default 'writing' check (state in ('writing', 'ready', 'doomed', 'deleted')),
  media_type text not null,
  size_bytes bigint,
  delete_after timestamptz,
  created_at timestamptz not null default clock_now(),
  deleted_at timestamptz
);
create index objects_task on objects (task_id);
create index objects_unfinished on objects (created_at) where state in ('writing', 'doomed');
create index objects_expiring on objects (delete_after) where state = 'ready' and delete_after is not null;

-- Keys of the delivery links' signatures: the newest signs, each of them verifies.
create table delivery_secrets (
  id integer primary key,
  secret bytea not null,
  created_at timestamptz not null default clock_now()
);
