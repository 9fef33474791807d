-- oldest-program: 0013
-- Webhooks (docs/decisions/0047-webhooks.md). The program before this file keeps working: it writes no
-- events, so an endpoint hears nothing of the tasks that it ends.
create table webhook_endpoints (
  id text primary key,
  account_id text not null,
  -- Which tasks it hears of: those of live keys or of test keys.
  mode text not null default 'live' check (mode in ('live', 'test')),
  url text not null,
  description text,
  events text[] not null,
  secret text not null,
  -- The secret before the last one: both sign until this time.
  earlier_secret text,
  earlier_secret_until timestamptz,
  created_at timestamptz not null default clock_now(),
  disabled_at timestamptz,
  disabled_because text check (disabled_because in ('owner', 'gone', 'failing')),
  deleted_at timestamptz,
  -- Since its last success: turns in which every delivery failed, and since when.
  failures integer not null default 0,
  failing_since timestamptz,
  -- The circuit: nothing is delivered before this time.
  paused_until timestamptz,
  -- One process at a time delivers to an endpoint.
  leased_until timestamptz
);
create index webhook_endpoints_account on webhook_endpoints (account_id) where deleted_at is null;
create index webhook_endpoints_deleted on webhook_endpoints (deleted_at) where deleted_at is not null;

-- One row for each event and endpoint. It has no foreign key to its endpoint, so that the statement that moves
-- tasks takes no lock on the endpoint.
create table webhook_deliveries (
  id bigint generated always as identity primary key,
  event_id text not null,
  endpoint_id text not null,
  type text not null,
  task_id text,
  -- What the event says, if it is not about a task: its task is read when it is sent.
  data jsonb,
  created_at timestamptz not null default clock_now(),
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- When it is sent next; null: not any more.
  due_at timestamptz default clock_now(),
  unique (endpoint_id, event_id)
);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at) where due_at is not null;
create index webhook_deliveries_listed on webhook_deliveries (endpoint_id, id);
create index webhook_deliveries_created on webhook_deliveries (created_at);

create table webhook_attempts (
  delivery_id bigint not null references webhook_deliveries on delete cascade,
  number integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  -- The HTTP status; null without a response.
  status integer,
  -- Why there was no response.
  cause text,
  -- The start of the response's body.
  response text,
  primary key (delivery_id, number)
);
