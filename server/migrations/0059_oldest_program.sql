-- oldest-program: 0013
-- 0038 and 0039 only add tables. Their headers refuse older programs, which then could not restart
-- during an upgrade.
update migrations set oldest_program = '0013'
where name in ('0038_sign_in.sql', '0039_account_deletions.sql');
