create table accounts (
  id text primary key,
  email text not null,
  disabled_at timestamptz,
  created_at timestamptz not null default clock_now()
);
create unique index accounts_email on accounts (lower(email));

create table api_keys (
  id text primary key,
  account_id text not null references accounts,
  name text,
  secret_hash bytea not null unique,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default clock_now()
);
create index api_keys_account on api_keys (account_id);

-- The times of the last admitted requests of each key. Unlogged: a crash of the database may forget them.
create unlogged table rate_windows (
  key_id text primary key,
  hits timestamptz[] not null
) with (fillfactor = 50);
