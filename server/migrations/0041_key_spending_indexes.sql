-- oldest-program: 0013
-- transaction: none
alter table api_keys validate constraint monthly_cap_not_negative;
create index concurrently tasks_api_key on tasks (api_key_id, created_at) where api_key_id is not null;
create index concurrently archived_tasks_api_key on archived_tasks (api_key_id, created_at)
  where api_key_id is not null;
