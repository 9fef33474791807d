-- oldest-program: 0013
-- transaction: none
create index concurrently uploads_mailbox on uploads (mailbox_hash) where mailbox_hash is not null;
