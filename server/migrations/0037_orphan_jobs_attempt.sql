-- oldest-program: 0013
-- transaction: none
-- The deletion of an attempt looks for its orphan jobs.
create index concurrently orphan_jobs_attempt on orphan_jobs (attempt_id);
