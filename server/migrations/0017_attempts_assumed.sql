-- oldest-program: 0013
-- transaction: none
-- For the metric of attempts that are absent by the operator's policy.
create index concurrently attempts_assumed on attempts (provider) where outcome_by = 'assumption';
