-- oldest-program: 0013
-- When the deletion of a file may be tried again. Each try sets it, so that a file that can't be
-- deleted does not keep others from being deleted.
alter table objects add column delete_retry_at timestamptz;

-- The longest row that is updated most often: room for its next versions on the same page.
alter table tasks set (fillfactor = 70);
