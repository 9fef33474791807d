-- oldest-program: 0001
-- transaction: none

create index concurrently stored_objects_sha256 on stored_objects (sha256) where sha256 is not null;
