-- oldest-program: 0001

-- Whether a job that failed at one connection, certainly unbilled, is tried once at the next.
alter table routes add column retry_failed boolean not null default false;

-- The connection whose job failed, if the task was tried again elsewhere: this happens once.
alter table tasks add column retried_from text;

-- replaced: its job failed, and the task was tried again elsewhere. Then it is not the live attempt,
-- also for older programs.
alter table attempts
  drop constraint attempts_state_check,
  add constraint attempts_state_check check (state in
    ('in_flight', 'unknown', 'accepted', 'replaced', 'rejected', 'not_sent', 'absent')) not valid,
  drop constraint accepted_attempts_have_a_job,
  add constraint accepted_attempts_have_a_job
    check ((state in ('accepted', 'replaced')) = (job_id is not null)) not valid;
