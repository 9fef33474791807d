-- oldest-program: 0013
-- The id of the HTTP request that created the task; null for older tasks.
alter table tasks add column request_id text;
