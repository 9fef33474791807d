-- oldest-program: 0013
-- How many of a task's credits are promotional (docs/decisions/0029-web-tasks.md).
--
-- A program before this file keeps working, but it would settle such a task with paid credits only.
-- So a task with promotional credits can only end if their settlement is noted in the same update,
-- which that program does not do: it tries again later, until a newer program ends the task.
alter table tasks
  add column promotional_credits integer not null default 0,
  add column promotional_settled boolean not null default false,
  add constraint promotional_credits_are_a_part
    check (promotional_credits between 0 and credits) not valid,
  add constraint promotional_credits_are_settled
    check (promotional_credits = 0 or phase not in ('completed', 'failed') or promotional_settled)
    not valid;
