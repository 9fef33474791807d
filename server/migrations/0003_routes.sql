-- oldest-program: 0001

-- Which connections take a model's tasks. A model without a row has the connection PROVIDER alone.
create table routes (
  model text primary key,
  choice text not null check (choice in ('order', 'weights')),
  -- A list of RouteStep (server/src/routing/route.ts).
  steps jsonb not null,
  changed_at timestamptz not null default clock_now()
);

-- The provider's own id of the model that the attempt was sent with; null: the adapter's own.
alter table attempts add column provider_model text;
