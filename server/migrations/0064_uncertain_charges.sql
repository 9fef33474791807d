-- oldest-program: 0013
-- A failed automatic purchase whose payment was not found: until this time a charge that was sent
-- may still take effect. It counts as spent until a look after this time finds no payment; null: it
-- was looked for, or no charge can be under way.
alter table orders add column may_be_paid_until timestamptz;
