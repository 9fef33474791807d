-- oldest-program: 0013
-- Ended tasks that were moved out of the tables of live work, one row each (docs/decisions/0025-archived-tasks.md).
create table archived_tasks (
  id text primary key,
  account_id text not null references accounts,
  phase text not null check (phase in ('completed', 'failed')),
  credits integer not null,
  provider text not null,
  -- The job of its accepted attempt.
  job_id text,
  output_object_id text,
  archived_at timestamptz not null default clock_now(),
  -- An operator removed its video, and the personal data in the record, after it was archived.
  taken_down_at timestamptz,
  erased_at timestamptz,
  -- As `framewright tasks show` prints it: the task's row, its attempts with their evidence, its
  -- history and its objects.
  record jsonb not null
) with (toast_tuple_target = 256);
-- Compressed also below 2 kB, and kept in the row.
alter table archived_tasks alter column record set storage main;

-- An id begins with its time, so this is also the order of creation.
create index archived_tasks_account on archived_tasks (account_id, id);
create unique index archived_tasks_job on archived_tasks (provider, job_id) where job_id is not null;
create unique index archived_tasks_output on archived_tasks (output_object_id)
  where output_object_id is not null;

-- A job belongs to one attempt, also if that attempt's task is archived. The trigger runs after the
-- index one_attempt_per_job was written, so it has waited for a task that is being archived.
create function refuse_archived_job() returns trigger language plpgsql as $$
begin
  if exists (select from archived_tasks where provider = new.provider and job_id = new.job_id) then
    raise exception 'job % of % belongs to an archived task', new.job_id, new.provider
      using errcode = 'unique_violation', constraint = 'one_attempt_per_job';
  end if;
  return null;
end $$;
create trigger one_attempt_per_archived_job after insert or update of job_id on attempts
  for each row when (new.job_id is not null) execute function refuse_archived_job();
