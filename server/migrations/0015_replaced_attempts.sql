-- oldest-program: 0001
-- transaction: none

alter table attempts validate constraint attempts_state_check;
alter table attempts validate constraint accepted_attempts_have_a_job;
create unique index concurrently one_replaced_attempt on attempts (task_id) where state = 'replaced';
