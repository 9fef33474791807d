-- oldest-program: 0001

-- catalog (docs/decisions/0064-models-as-data.md) -------------------------------------------------
-- The models that operators add. Those of the contract are in the program (catalog/catalog.ts).

create table models (
  name text primary key,
  -- The title, modes, durations, aspect ratios, sound and seed (catalog/stored-models.ts).
  definition jsonb not null,
  state text not null check (state in ('offered', 'hidden', 'retired')),
  -- `file`: MODELS_FILE named it at the last start that read one.
  source text not null check (source in ('file', 'operator')),
  created_at timestamptz not null default clock_now()
);

-- What a model costs from a moment on. Rows stay: they are the price versions of tasks, and version
-- 1 is the contract's.
create table model_prices (
  version integer primary key generated always as identity (start with 2),
  model text not null references models,
  holds_from timestamptz not null,
  -- Credits per second by resolution: `standard`, and `referenced` with reference videos.
  rates jsonb not null,
  created_at timestamptz not null default clock_now()
);

-- The processes that run with a MODELS_FILE: all must have the same one.
create table model_files (
  process text primary key,
  -- Of what the file says.
  digest text not null,
  -- Heartbeat. If it is old, the process has died.
  seen_at timestamptz not null
);
