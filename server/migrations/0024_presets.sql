-- oldest-program: 0001

-- Requests that people saved under a name, to fill in the playground's form.
create table presets (
  account_id text not null references accounts,
  name text not null,
  request jsonb not null,
  primary key (account_id, name)
);
