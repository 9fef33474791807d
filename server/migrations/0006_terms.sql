-- oldest-program: 0001

-- What a connection charges for a second of video. Rows never change: of those that hold at a
-- moment, the one with the latest date counts, and of these the last one that was set.
create table terms (
  id bigint generated always as identity primary key,
  connection text not null,
  model text not null,
  resolution text not null,
  price numeric not null check (price >= 0),
  -- With reference videos: for each second of the output and of these; null: as without them.
  reference_price numeric check (reference_price >= 0),
  currency text not null,
  holds_from timestamptz not null,
  created_at timestamptz not null default clock_now()
);
create index terms_of_jobs on terms (connection, model, resolution, holds_from desc, id desc);
