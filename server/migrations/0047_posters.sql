-- oldest-program: 0013
-- A poster is a small picture of an output, drawn after the task is completed. The program before
-- this file keeps working: its outputs get no posters, and it deletes posters like other objects.
alter table objects
  add column poster_due_at timestamptz,
  add column poster_tries smallint not null default 0,
  drop constraint objects_role_check,
  add constraint objects_role_check
    check (role in ('input', 'output', 'render', 'upload', 'poster')) not valid;
