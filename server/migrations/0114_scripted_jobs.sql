-- oldest-program: 0013
-- The jobs of test keys: the record of the provider scripted, as a foreign provider would keep one. barred: a
-- find found no job of that attempt, so none may come any more.
create table scripted_jobs (
  id text primary key,
  state text not null check (state in ('barred', 'accepted', 'cancelled')),
  -- What was asked for: the name of the outcome, and the aspect ratio of the video.
  outcome text,
  aspect_ratio text,
  created_at timestamptz not null default clock_now()
);
create index scripted_jobs_created on scripted_jobs (created_at);
