-- oldest-program: 0001
-- transaction: none

create index concurrently stored_objects_fingerprints on stored_objects (deleted_at)
  where role = 'output' and state = 'deleted' and sha256 is not null;
