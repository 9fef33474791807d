-- oldest-program: 0001

-- How long the provider reported that the task's job computed; null: nothing that can be true.
alter table tasks add column job_compute_seconds numeric;
