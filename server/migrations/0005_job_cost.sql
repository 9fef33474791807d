-- oldest-program: 0001

-- What the provider reported that it charges for the task's job; null: it reported nothing.
alter table tasks add column job_cost numeric;
alter table tasks add column job_cost_currency text;
