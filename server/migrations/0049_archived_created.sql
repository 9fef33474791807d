-- oldest-program: 0013
-- transaction: none
-- When an archived task was created, for lists of an account's tasks by time.
update archived_tasks set created_at = (record#>>'{task,created_at}')::timestamptz where id in (select id from archived_tasks where created_at is null limit 1000);
create index concurrently archived_tasks_created on archived_tasks (account_id, created_at);
