-- A small database as the release with the migrations up to 0008 left it, in that release's words.
insert into accounts (id, email) values ('acct_ada', 'ada@example.com'), ('acct_bob', 'bob@example.com');
insert into api_keys (id, account_id, secret_hash) values ('key_ada', 'acct_ada', 'hash');
insert into rate_windows (key_id, hits) values ('key_ada', array[clock_now()]);

-- 1,000 given, 10 taken back, 290 spent, 250 in tasks that have not ended.
insert into ledger_accounts (account_id, kind, granted, available, held, spent) values
  ('acct_ada', 'paid', 990, 450, 250, 290), ('acct_ada', 'promotional', 50, 50, 0, 0),
  ('acct_bob', 'paid', 0, 0, 0, 0), ('acct_bob', 'promotional', 0, 0, 0, 0);
insert into ledger_transfers
  (account_id, kind, source, target, credits, reason, reference, note, available_after, held_after)
values
  ('acct_ada', 'paid', 'granted', 'available', 1000, 'grant', 'grant:hold:1', null, 1000, 0),
  ('acct_ada', 'promotional', 'granted', 'available', 50, 'grant', 'grant:welcome', null, 50, 0),
  ('acct_ada', 'paid', 'available', 'granted', 10, 'adjust', 'adjust:1', 'held twice', 990, 0),
  ('acct_ada', 'paid', 'available', 'held', 290, 'hold', 'hold:task_done', null, 700, 290),
  ('acct_ada', 'paid', 'held', 'spent', 290, 'capture', 'settle:task_done', null, 700, 0),
  ('acct_ada', 'paid', 'available', 'held', 300, 'hold', 'hold:task_failed', null, 400, 300),
  ('acct_ada', 'paid', 'held', 'available', 300, 'refund', 'settle:task_failed', null, 700, 0),
  ('acct_ada', 'paid', 'available', 'held', 100, 'hold', 'hold:task_live', null, 600, 100),
  ('acct_ada', 'paid', 'available', 'held', 70, 'hold', 'hold:task_held', null, 530, 170),
  ('acct_ada', 'paid', 'available', 'held', 80, 'hold', 'hold:task_called', null, 450, 250);

insert into objects (id, task_id, role, state, media_type, size_bytes, delete_after, deleted_at) values
  ('obj_done', 'task_done', 'output', 'ready', 'video/mp4', 9, clock_now() + interval '1 day', null),
  ('obj_old', 'task_done', 'input', 'deleted', 'image/png', 5, null, clock_now()),
  ('obj_doomed', 'task_failed', 'input', 'doomed', 'image/png', 5, null, null),
  ('obj_writing', 'task_live', 'input', 'writing', 'image/png', null, null, null);
insert into delivery_secrets (id, secret) values (1, 'secret');

insert into tasks (id, account_id, surface, idempotency_key, phase, held_cause, request, seed, credits,
  price_version, provider, wait_until, due_at, stumbles, output_object_id, error_code, provider_billed)
select id, 'acct_ada', 'api', 'of ' || id, phase, held_cause, '{"mode": "text-to-video"}', 1, credits,
  1, 'ark', clock_now(), case when phase not in ('completed', 'failed') then clock_now() end, stumbles,
  output, error, case when phase = 'failed' then true end
from (values
  ('task_done', 'completed', null, 290, 0, 'obj_done', null),
  ('task_failed', 'failed', null, 300, 0, null, 'provider_unavailable'),
  ('task_live', 'submitting', null, 100, 3, null, null),
  ('task_held', 'held', 'acceptance', 70, 0, null, null),
  ('task_called', 'generating', null, 80, 0, null, null)
) as t (id, phase, held_cause, credits, stumbles, output, error);
insert into idempotency_keys (account_id, surface, key, fingerprint, task_id)
select account_id, surface, idempotency_key, 'fingerprint', nullif(id, 'task_failed') from tasks;
insert into task_history (task_id, phase, cause) values
  ('task_done', 'reserved', null),
  ('task_done', 'generating', '{"attempt": "att_found", "look_up": {"kind": "found"}, "job": "job-1"}'),
  ('task_held', 'held', '{"attempt": "att_unknown", "failure": "reset"}');

-- Every state of an attempt and every way to learn it.
insert into attempts (id, task_id, provider, state, send_before, job_id, cause, resolved_at, resolved_by)
select id, task_id, 'ark', state, clock_now(), job, cause::jsonb,
  case when by is not null then clock_now() end, by
from (values
  ('att_absent', 'task_live', 'absent', null,
    '{"attempt": "att_absent", "look_up": {"kind": "absent", "proof": "strong"}}', 'look_up'),
  ('att_open', 'task_live', 'open', null, null, null),
  ('att_unknown', 'task_held', 'unknown', null, '{"failure": "reset"}', 'sender'),
  ('att_found', 'task_done', 'accepted', 'job-1', null, 'look_up'),
  ('att_called', 'task_called', 'accepted', 'job-2', null, 'callback'),
  ('att_rejected', 'task_failed', 'rejected', null, null, 'sender'),
  ('att_not_sent', 'task_failed', 'not_sent', null, null, 'sender'),
  ('att_decided', 'task_failed', 'absent', null, '{"operator": "not in the console"}', 'operator')
) as a (id, task_id, state, job, cause, by);
insert into evidence (attempt_id, source, finding, digest, times) values
  ('att_unknown', 'sender', '{"kind": "unknown", "cause": "reset"}', 'a', 1),
  ('att_unknown', 'look_up', '{"kind": "absent", "proof": "weak"}', 'b', 7),
  ('att_unknown', 'look_up', '{"failure": "HTTP 500"}', 'c', 1),
  ('att_called', 'callback', '{"job": "job-2", "verified": true}', 'd', 2),
  ('att_decided', 'operator', '{"decision": {"kind": "not_accepted"}, "reason": "seen"}', 'e', 1);
insert into orphan_jobs (provider, job_id, attempt_id, task_id, source, state)
values ('ark', 'job-late', 'att_not_sent', 'task_failed', 'sender', 'confirmed');

insert into local_jobs (id, spec, state) values ('att_local', '{}', 'barred');
insert into provider_turns (account, purpose, next_free) values ('ark', 'submit', clock_now());
