-- oldest-program: 0013
-- The column key_id had names such as ip:203.0.113.7, too. For older programs, a view has the
-- earlier names (docs/decisions/0042-names-of-columns.md). They delete idle windows by their ctid.
alter table rate_windows rename to request_windows;
alter table request_windows rename column key_id to subject;
comment on column request_windows.subject is
  'Whose requests are counted: the id of an API key, or a name such as ip:203.0.113.7, web:ACCOUNT or uploads:ACCOUNT';
create view rate_windows as select ctid, subject as key_id, hits from request_windows;
