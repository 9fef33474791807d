-- An attempt is in flight until its outcome is recorded. To find is to ask a provider for the job of an
-- attempt.
alter table attempts rename column resolved_by to outcome_by;
alter table attempts rename column resolved_at to outcome_at;
alter table attempts drop constraint attempts_state_check, drop constraint attempts_resolved_by_check;
alter table evidence drop constraint evidence_source_check;
drop index one_live_attempt;
drop index attempts_uncertain;
drop index attempts_reconciled;

update attempts set state = 'in_flight' where state = 'open';
update attempts set outcome_by = 'find' where outcome_by = 'look_up';
update evidence set source = 'find' where source = 'look_up';
-- Operators read causes in `framewright tasks show`; no code reads this member.
update attempts set cause = cause - 'look_up' || jsonb_build_object('find', cause->'look_up')
  where cause ? 'look_up';
update task_history set cause = cause - 'look_up' || jsonb_build_object('find', cause->'look_up')
  where cause ? 'look_up';

alter table attempts alter column state set default 'in_flight';
alter table attempts
  add constraint attempts_state_check
    check (state in ('in_flight', 'unknown', 'accepted', 'rejected', 'not_sent', 'absent')),
  add constraint attempts_outcome_by_check
    check (outcome_by in ('sender', 'find', 'callback', 'operator'));
alter table evidence add constraint evidence_source_check
  check (source in ('sender', 'find', 'callback', 'operator'));

create unique index one_live_attempt on attempts (task_id)
  where state in ('in_flight', 'unknown', 'accepted');
create index attempts_uncertain on attempts (provider, created_at)
  where state in ('in_flight', 'unknown');
create index attempts_reconciled on attempts (outcome_by, state)
  where outcome_by in ('find', 'callback');
