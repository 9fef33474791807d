-- oldest-program: 0013
-- Who asked for the cancel: 'customer' or 'operator'; null: a process that did not record it.
alter table cancel_requests add column requested_by text;
