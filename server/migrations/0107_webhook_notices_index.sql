-- oldest-program: 0013
-- transaction: none
create index concurrently webhook_endpoints_notices on webhook_endpoints (id) where notice is not null;
