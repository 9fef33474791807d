-- oldest-program: 0013
-- A mail that the owner of an endpoint is to get: what happened, and by what it was done; null: none.
alter table webhook_endpoints
  add column notice text check (notice in ('created', 'replaced', 'moved', 'gone', 'failing')),
  add column notice_from text,
  -- When a process last took up a mail about the endpoint.
  add column mail_claimed_at timestamptz;
