-- oldest-program: 0013
-- Test keys (docs/decisions/0048-test-keys.md). The program before this file keeps working: it refuses the
-- secret of a test key, because it does not know its prefix.
alter table api_keys add column mode text not null default 'live' check (mode in ('live', 'test'));
