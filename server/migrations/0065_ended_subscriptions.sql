-- oldest-program: 0013
-- transaction: none
-- Subscriptions that ended before they were looked at afterwards may have an invoice that was paid
-- since, or that still may be: each is looked at once, within a day.
update subscriptions set due_at = clock_now() + random() * interval '1 day' where id in (select id from subscriptions where due_at is null and stripe_subscription is not null and state in ('canceled', 'incomplete_expired') limit 1000);
