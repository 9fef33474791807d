-- oldest-program: 0013
-- Tasks of test keys have the surface test. They are given to no other provider than scripted.
--
-- A program before this file keeps working, but it would settle such a task with paid credits. So the task can
-- only end if test_settled is set in the same update, which that program does not do: it tries again later,
-- until a newer program ends the task.
alter table tasks
  add column test_settled boolean not null default false,
  add constraint test_credits_are_settled
    check (surface <> 'test' or phase not in ('completed', 'failed') or test_settled) not valid,
  add constraint test_tasks_are_scripted
    check (surface <> 'test' or provider = 'scripted') not valid;
