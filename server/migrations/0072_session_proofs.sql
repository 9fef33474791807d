-- oldest-program: 0013
-- When the person of a session last proved who they are; null: not since the sign-in.
alter table sessions add column proved_at timestamptz;

-- A mailed code that proves, in the session that asked for it, that its person is still the same. It
-- signs nobody in. Without a foreign key: the code of an ended session is of no use, and expires.
create table proof_codes (
  session_id text primary key,
  code_hash bytea not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
create index proof_codes_expires on proof_codes (expires_at);
