-- oldest-program: 0013
-- The session that a challenge is for, if a passkey proves there that its person is still the same.
alter table passkey_challenges add column session_id text;
