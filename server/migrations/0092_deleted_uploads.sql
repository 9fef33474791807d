-- oldest-program: 0013
-- transaction: none
create index concurrently objects_deleted_uploads on objects (deleted_at)
  where role = 'upload' and state = 'deleted';
