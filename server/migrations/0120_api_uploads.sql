-- oldest-program: 0013
-- Uploads of the public API (docs/decisions/0050-api-uploads.md). lasts_days: how long an upload can be used after
-- its last use. Without a width: sent to the bucket by a link, and not measured when it arrived.
alter table uploads
  add column lasts_days smallint not null default 7,
  alter column width drop not null,
  alter column height drop not null;
