-- The state of an object that waits for its deletion.
alter table objects drop constraint objects_state_check;
drop index objects_unfinished;
update objects set state = 'deleting' where state = 'doomed';
alter table objects add constraint objects_state_check
  check (state in ('writing', 'ready', 'deleting', 'deleted'));
create index objects_unfinished on objects (created_at) where state in ('writing', 'deleting');
