-- oldest-program: 0001

-- What operators have set of the brand, by field (server/src/brand/). The version grows with each
-- change, so that processes read the logo only when something has changed.
create table brand (
  one boolean primary key default true check (one),
  version integer not null default 0,
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object')
);
insert into brand default values;
