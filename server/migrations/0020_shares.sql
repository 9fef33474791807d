-- oldest-program: 0001

-- A public page of a video, which its owner made (server/src/shares/). It also ends with the video's
-- file, and while its account is disabled.
create table shares (
  id text primary key,
  account_id text not null,
  task_id text not null,
  shows_prompt boolean not null,
  created_at timestamptz not null default clock_now(),
  -- Null: when its owner ends it.
  ends_at timestamptz,
  ended_at timestamptz,
  views bigint not null default 0,
  -- The bytes sent on the last day (UTC) on which any were.
  traffic_day date,
  traffic_bytes bigint not null default 0
);
create unique index shares_open on shares (task_id) where ended_at is null;
create index shares_account on shares (account_id, id);
