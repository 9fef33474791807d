-- oldest-program: 0013
-- How long the slowest delivery of the last turn with a success took; null: there was none.
alter table webhook_endpoints add column took_ms integer;
