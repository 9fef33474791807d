-- oldest-program: 0013
-- Whether the Checkout of a pack also saves the card; null: not known, or no Checkout.
alter table orders add column saves_card boolean;
