-- oldest-program: 0150
drop trigger one_attempt_per_archived_job on attempts;
drop function refuse_archived_job();
drop table archived_tasks;
