-- Failures of the service itself in a task's present phase, for the backoff.
alter table tasks rename column stumbles to internal_failures;
