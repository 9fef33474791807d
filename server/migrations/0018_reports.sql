-- oldest-program: 0001

-- Somebody's report that a video must not be shown (docs/decisions/0069-reports.md).
create table reports (
  -- The receipt.
  id text primary key,
  created_at timestamptz not null default clock_now(),
  reason text not null,
  -- What the reporter gave: a link, an id or a digest; an e-mail address; a text. Null once
  -- forgotten.
  video text,
  contact text,
  evidence text,
  -- Null: no video of this service was named.
  task_id text,
  object_id text,
  state text not null default 'open'
    check (state in ('open', 'kept', 'taken_down', 'account_closed')),
  decided_at timestamptz
);
create index reports_by_state on reports (state, created_at, id);
create index reports_to_forget on reports (created_at) where video is not null;
create index reports_task on reports (task_id);
create index reports_decided on reports (decided_at) where decided_at is not null;

-- The bytes of videos that operators took down. An output with the same bytes is not stored.
create table blocked_digests (
  -- SHA-256 in hex.
  sha256 text primary key
);

-- Of the bytes of an output as the provider sent them, in hex: adding credentials changed them.
alter table stored_objects add column source_sha256 text;
