-- When the next call of each kind may be made on a provider account, whichever process makes it.
-- Unlogged: after a crash of the database the line begins anew.
create unlogged table provider_turns (
  account text not null,
  purpose text not null,
  next_free timestamptz not null,
  primary key (account, purpose)
) with (fillfactor = 50);
