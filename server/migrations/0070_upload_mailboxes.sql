-- oldest-program: 0013
-- Which mailbox an upload counts for, as SHA-256 of the address without what follows a plus sign: one
-- mailbox may have many accounts. Null: stored by a program before this file; it counts for its account.
alter table uploads add column mailbox_hash bytea;
