-- oldest-program: 0013
-- transaction: none
-- Outputs that wait for their poster.
create index concurrently objects_poster_due on objects (poster_due_at) where poster_due_at is not null and state = 'ready';
