-- oldest-program: 0037
-- How people sign in to the website, and where they are signed in.
create table sessions (
  id text primary key,
  -- SHA-256 of the token in the cookie.
  token_hash bytea not null unique,
  account_id text not null references accounts,
  created_at timestamptz not null default clock_now(),
  -- Moved on at most once an hour.
  seen_at timestamptz not null default clock_now(),
  expires_at timestamptz not null,
  -- How the person signed in: code, passkey, github, google, oidc.
  method text not null,
  -- The network that the address belongs to, not the address itself.
  network text,
  -- The name of the browser and of its system.
  browser text
);
create index sessions_account on sessions (account_id);
create index sessions_expires on sessions (expires_at);

-- A mailed code. A new one replaces the old one.
create table sign_in_codes (
  email text primary key,
  code_hash bytea not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
create index sign_in_codes_expires on sign_in_codes (expires_at);

create table passkeys (
  -- The credential's id, in base64url.
  id text primary key,
  account_id text not null references accounts,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null default '{}',
  name text not null,
  created_at timestamptz not null default clock_now(),
  used_at timestamptz
);
create index passkeys_account on passkeys (account_id);

-- A challenge is deleted when it is used. account_id: of the person who adds a passkey.
create table passkey_challenges (
  challenge text primary key,
  account_id text references accounts,
  expires_at timestamptz not null
);
create index passkey_challenges_expires on passkey_challenges (expires_at);
create index passkey_challenges_account on passkey_challenges (account_id);

-- Somebody known at another place: github, or the address of an OIDC issuer.
create table identities (
  issuer text not null,
  subject text not null,
  account_id text not null references accounts,
  created_at timestamptz not null default clock_now(),
  primary key (issuer, subject)
);
create index identities_account on identities (account_id);

-- A sign-in that began here and continues at a provider. Deleted when the person comes back.
create table sign_in_starts (
  -- SHA-256 of the token in the short-lived cookie.
  token_hash bytea primary key,
  provider text not null,
  state text not null,
  nonce text not null,
  code_verifier text not null,
  next text not null,
  expires_at timestamptz not null
);
create index sign_in_starts_expires on sign_in_starts (expires_at);
