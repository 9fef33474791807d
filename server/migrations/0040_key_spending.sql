-- oldest-program: 0013
-- What an API key may spend in a calendar month (UTC), and which key created a task; null: a task of
-- the website, or from before this file.
alter table api_keys
  add column monthly_cap bigint,
  add constraint monthly_cap_not_negative check (monthly_cap >= 0) not valid;
alter table tasks add column api_key_id text;
-- Of a task that a key created. created_at is the task's.
alter table archived_tasks add column api_key_id text, add column created_at timestamptz;

-- Counted in memory by each process and written once a minute: a crash loses up to a minute.
create table api_key_requests (
  api_key_id text not null,
  day date not null,
  requests bigint not null,
  primary key (api_key_id, day)
) with (fillfactor = 70);

-- The last use of each key. The address is the network of the client: /24, or /48 with IPv6.
create table api_key_uses (
  api_key_id text primary key,
  last_used_at timestamptz not null,
  last_used_address text
) with (fillfactor = 70);
