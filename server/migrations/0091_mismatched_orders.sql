-- oldest-program: 0013
-- transaction: none
create index concurrently orders_mismatched on orders (settled_at) where state = 'mismatched';
