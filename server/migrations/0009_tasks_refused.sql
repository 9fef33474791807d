-- oldest-program: 0001
-- transaction: none

-- Few: they are counted per account.
create index concurrently tasks_refused on tasks (updated_at) where error_code = 'content_refused';
