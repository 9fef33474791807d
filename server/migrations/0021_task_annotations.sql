-- oldest-program: 0001

-- What people wrote on their videos. A task without any has no row.
create table task_annotations (
  task_id text primary key,
  account_id text not null,
  -- The task's, so that annotated tasks are read in the order of the list.
  created_at timestamptz not null,
  name text,
  is_starred boolean not null default false,
  tags text[] not null default '{}'
    constraint task_annotations_tags check (cardinality(tags) <= 20)
);
create index task_annotations_account on task_annotations (account_id, created_at);

-- Who took the file down: `owner` or `operator`. Null: nobody, or it was not recorded.
alter table stored_objects add column taken_down_by text;
