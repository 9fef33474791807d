-- oldest-program: 0013
-- The column task_id had three kinds of ids. For older programs, a view has the earlier names
-- (docs/decisions/0042-names-of-columns.md). Nothing is rewritten, and no row is read.
alter table objects rename to stored_objects;
alter table stored_objects rename column task_id to owner_id;
comment on column stored_objects.owner_id is
  'By role: a task (input, output, poster), an account (upload), or an attempt, whose id is the job of the local provider (render)';
create view objects as
  select id, owner_id as task_id, role, state, media_type, size_bytes, delete_after, created_at,
    deleted_at, delete_retry_at, taken_down_at, poster_due_at, poster_tries
  from stored_objects;
