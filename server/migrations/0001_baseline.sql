-- oldest-program: 0001
-- The schema of version 1.0.0, by the rooms of server/src that own the tables.


-- The clock of everything that is stored or compared across processes. Tests replace it.
create function clock_now() returns timestamptz language sql volatile as $$ select clock_timestamp() $$;


-- accounts ------------------------------------------------------------------------------------------

-- A customer.
create table accounts (
  id text primary key,
  email text not null,
  created_at timestamptz not null default clock_now(),
  disabled_at timestamptz,
  -- When its personal data was removed.
  erased_at timestamptz
);
create unique index accounts_email on accounts (lower(email));

-- An account that its owner has closed and can reopen until erase_at; then a worker moves the row
-- to account_deletions. An operator who enables or disables the account deletes it.
create table account_closings (
  account_id text primary key references accounts,
  closed_at timestamptz not null,
  erase_at timestamptz not null
);
create index account_closings_due on account_closings (erase_at);

-- An account to be erased, by a worker, once nothing of the account is under way.
create table account_deletions (
  account_id text primary key references accounts,
  asked_at timestamptz not null default clock_now(),
  erased_at timestamptz
);
create index account_deletions_due on account_deletions (asked_at) where erased_at is null;

-- What a client authenticates with. Only a hash of the secret is stored.
create table api_keys (
  id text primary key,
  account_id text not null references accounts,
  -- live: spends paid credits. test: spends test credits.
  mode text not null default 'live' check (mode in ('live', 'test')),
  name text,
  secret_hash bytea not null unique,
  -- What its tasks may cost in a calendar month (UTC); null: no limit.
  monthly_cap bigint constraint monthly_cap_not_negative check (monthly_cap >= 0),
  created_at timestamptz not null default clock_now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_account on api_keys (account_id);

-- The requests of an API key on one day. Each process counts in memory and writes once a minute, so a
-- crash loses up to a minute.
create table api_key_requests (
  api_key_id text not null,
  day date not null,
  requests bigint not null,
  primary key (api_key_id, day)
) with (fillfactor = 70);

-- The last use of an API key.
create table api_key_uses (
  api_key_id text primary key,
  last_used_at timestamptz not null,
  -- The client's network, not its address: /24, or /48 with IPv6.
  last_used_address text
) with (fillfactor = 70);

-- The times of the last admitted requests of one subject. Unlogged: a crash of the database may lose them.
create unlogged table request_windows (
  -- The id of an API key, or a name such as ip:203.0.113.7, web:ACCOUNT or uploads:ACCOUNT.
  subject text primary key,
  hits timestamptz[] not null
) with (fillfactor = 50);


-- ledger --------------------------------------------------------------------------------------------

-- The balances of one account and kind of credits. They share one row, so that one row lock orders
-- all movements of a customer, and customers share no row.
create table ledger_balances (
  account_id text not null references accounts,
  kind text not null check (kind in ('paid', 'promotional', 'test')),
  -- The contra account: everything ever granted, less what was taken back.
  granted bigint not null default 0,
  available bigint not null default 0 constraint available_not_negative check (available >= 0),
  reserved bigint not null default 0 constraint reserved_not_negative check (reserved >= 0),
  spent bigint not null default 0 constraint spent_not_negative check (spent >= 0),
  -- Credits taken back after they were spent or reserved. Also a contra account.
  debt bigint not null default 0 constraint debt_not_negative check (debt >= 0),
  -- The newest transfer that ledger_lots contains.
  lots_through bigint,
  -- From this time on, lots must be brought up to date before a reserve; null: no lot has credits.
  lots_due_at timestamptz,
  primary key (account_id, kind),
  constraint double_entry check (granted + debt = available + reserved + spent)
) with (fillfactor = 50);
create index ledger_balances_lots_due on ledger_balances (lots_due_at) where lots_due_at is not null;
create index ledger_balances_debts on ledger_balances (account_id) where debt > 0;

-- A movement of credits from one balance to another. Append-only. The unique reference keeps it from being
-- booked twice: capture and refund share settle:TASK.
create table ledger_transfers (
  id bigint generated always as identity primary key,
  account_id text not null,
  kind text not null,
  source text not null check (source in ('granted', 'available', 'reserved', 'debt')),
  target text not null check (target in ('granted', 'available', 'reserved', 'spent', 'debt')),
  credits bigint not null check (credits > 0),
  reason text not null check (reason in
    ('grant', 'adjust', 'reserve', 'capture', 'refund', 'expire', 'clawback', 'repay')),
  reference text not null unique,
  note text,
  -- For a grant that makes a lot.
  expires_at timestamptz,
  -- The grant whose credits an expiry or a clawback takes.
  origin bigint,
  available_after bigint not null,
  reserved_after bigint not null,
  created_at timestamptz not null default clock_now(),
  constraint ledger_transfers_balance foreign key (account_id, kind) references ledger_balances,
  check (source <> target)
);
create index ledger_transfers_account on ledger_transfers (account_id, kind, id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger_transfers is append-only';
end $$;
create trigger append_only before update or delete on ledger_transfers
  for each statement execute function refuse_change();

-- Granted credits that expire together. Lots and their movements are derived from the transfers,
-- account by account (ledger/lots.ts).
create table ledger_lots (
  -- grant:REFERENCE, or settle:TASK/LOT for credits refunded after their lot had expired.
  name text primary key,
  account_id text not null,
  kind text not null,
  grant_id bigint not null,
  -- The transfer that made it.
  made_by bigint not null,
  expires_at timestamptz not null,
  available bigint not null constraint lot_available_not_negative check (available >= 0),
  reserved bigint not null constraint lot_reserved_not_negative check (reserved >= 0),
  expired_at timestamptz,
  foreign key (account_id, kind) references ledger_balances
);
create index ledger_lots_balance on ledger_lots (account_id, kind);

-- What a transfer added to the available credits of a lot, or took from them.
create table ledger_lot_movements (
  transfer_id bigint not null,
  lot text not null references ledger_lots,
  credits bigint not null check (credits <> 0),
  primary key (transfer_id, lot)
);
create index ledger_lot_movements_lot on ledger_lot_movements (lot);


-- storage -------------------------------------------------------------------------------------------

-- A stored file. The row commits before its first byte is written, and its id is never reused.
create table stored_objects (
  id text primary key,
  -- By role: a task (input, output, poster), an account (upload), or an attempt, whose id is the job of the
  -- local provider (render).
  owner_id text not null,
  role text not null check (role in ('input', 'output', 'render', 'upload', 'poster')),
  state text not null default 'writing' check (state in ('writing', 'ready', 'deleting', 'deleted')),
  media_type text not null,
  size_bytes bigint,
  created_at timestamptz not null default clock_now(),
  delete_after timestamptz,
  -- Set by each try to delete the file, so that one that can't be deleted doesn't hold up the
  -- others.
  delete_retry_at timestamptz,
  deleted_at timestamptz,
  -- When an operator removed the file before the end of its retention.
  taken_down_at timestamptz,
  -- For an output: when to draw its poster; null: never again.
  poster_due_at timestamptz,
  poster_tries smallint not null default 0
);
create index stored_objects_owner on stored_objects (owner_id);
create index stored_objects_writing on stored_objects (created_at) where state = 'writing';
create index stored_objects_expiring on stored_objects (delete_after)
  where state = 'ready' and delete_after is not null;
create index stored_objects_deleting on stored_objects (delete_retry_at) where state = 'deleting';
create index stored_objects_deleted_uploads on stored_objects (deleted_at)
  where role = 'upload' and state = 'deleted';
create index stored_objects_poster_due on stored_objects (poster_due_at)
  where poster_due_at is not null and state = 'ready';

-- A secret that signs delivery links, from signs_from (null: at once), and verifies until
-- valid_until (null: forever).
create table delivery_secrets (
  id integer primary key,
  secret bytea not null,
  created_at timestamptz not null default clock_now(),
  signs_from timestamptz,
  valid_until timestamptz
);


-- tasks ---------------------------------------------------------------------------------------------

-- One request of a client, from the reserve to its end (docs/ARCHITECTURE.md). A fillfactor of 70 leaves
-- room for the next versions of this long row on the same page.
create table tasks (
  id text primary key,
  account_id text not null references accounts,
  -- Null: a task of the website.
  api_key_id text,
  surface text not null,
  idempotency_key text not null,
  -- The id of the HTTP request that created it.
  request_id text,
  -- The W3C trace context of that request, if traced: the spans of the task's steps join its trace.
  traceparent text,

  -- The validated request, defaults filled in.
  request jsonb not null,
  seed bigint not null,
  -- What `adaptive` resolved to; null until the inputs are measured.
  aspect_ratio text,
  provider text not null,

  credits integer not null check (credits > 0),
  -- How many of these are promotional (docs/decisions/0029-web-tasks.md).
  promotional_credits integer not null default 0
    constraint promotional_credits_are_a_part check (promotional_credits between 0 and credits),
  price_version integer not null,

  phase text not null check (phase in
    ('reserved', 'ingesting', 'submitting', 'generating', 'archiving', 'held', 'completed', 'failed')),
  held_cause text check (held_cause in ('acceptance', 'outcome')),
  -- How often it was held for its outcome; each time the next read waits longer.
  outcome_holds integer not null default 0,
  -- When a client got a response that it can rely on.
  announced_at timestamptz,
  wait_until timestamptz not null,

  -- When the next step is due; and the lease, a growing number, with its expiry.
  due_at timestamptz,
  lease bigint not null default 0,
  leased_until timestamptz,
  -- Internal failures in the current phase, for the backoff.
  internal_failures integer not null default 0,
  -- When an attempt was first not accepted: SUBMIT_RETRY_SECONDS count from here.
  refused_at timestamptz,
  accepted_at timestamptz,

  inputs jsonb not null default '[]',
  provider_output jsonb,
  output_object_id text,
  output_facts jsonb,
  error_code text,
  error_message text,
  error_details jsonb,
  -- For a failed task: whether the provider charges for it anyway; null: unknown.
  provider_billed boolean,
  created_at timestamptz not null default clock_now(),
  updated_at timestamptz not null default clock_now(),

  constraint ended_tasks_have_no_work check ((phase in ('completed', 'failed')) = (due_at is null)),
  constraint held_tasks_have_a_cause check ((phase = 'held') = (held_cause is not null)),
  constraint failed_tasks_have_an_error check ((phase = 'failed') = (error_code is not null)),
  constraint completed_tasks_have_an_output check (phase <> 'completed' or output_object_id is not null),
  constraint test_tasks_are_scripted check (surface <> 'test' or provider = 'scripted')
) with (fillfactor = 70);
create index tasks_account on tasks (account_id, created_at);
create index tasks_api_key on tasks (api_key_id, created_at) where api_key_id is not null;
create index tasks_created on tasks (created_at);
create index tasks_held on tasks (updated_at) where phase = 'held';
-- The operator's losses: few, and counted by the metrics.
create index tasks_billed_failures on tasks (provider) where provider_billed and phase = 'failed';
-- No index names leased_until, so renewing a lease writes to none (a HOT update).
-- Due tasks of a worker pool, per provider. The expression is POOL in worker/claim.ts.
create index tasks_due_in_pool on tasks (
  (case when phase in ('reserved', 'ingesting') and request->>'mode' <> 'text-to-video' then 'ingest'
    when phase in ('reserved', 'ingesting', 'submitting') then 'submit'
    when phase = 'archiving' then 'archive'
    when held_cause = 'acceptance' then 'find'
    else 'poll' end), provider, due_at) where due_at is not null;
-- Tasks that fetch files or wait to, per account.
create index tasks_ingest on tasks (account_id, due_at)
  where phase in ('reserved', 'ingesting') and request->>'mode' <> 'text-to-video';

-- How many tasks of an account are fetching their files. It is volatile, so it sees everything
-- committed before the call, even if the calling statement waited for a lock.
create function fetching_tasks(account text) returns bigint language sql volatile as $$
  select count(*) from tasks
  where account_id = account and phase in ('reserved', 'ingesting')
    and request->>'mode' <> 'text-to-video' and leased_until > (select clock_now())
$$;

-- A transition of a task, for operators.
create table task_history (
  task_id text not null references tasks,
  at timestamptz not null default clock_now(),
  phase text not null,
  cause jsonb
);
create index task_history_task on task_history (task_id, at);

-- An Idempotency-Key. It is released while task_id is null: the next create with the same body
-- starts a new task.
create table idempotency_keys (
  account_id text not null,
  surface text not null,
  key text not null,
  fingerprint bytea not null,
  task_id text,
  created_at timestamptz not null default clock_now(),
  primary key (account_id, surface, key)
);

-- One try to hand a task to a provider, recorded before its first byte is sent.
create table attempts (
  id text primary key,
  task_id text not null references tasks,
  provider text not null,
  -- Digest of the address and account that it was sent to: absence elsewhere proves nothing.
  provider_identity text,
  state text not null default 'in_flight'
    check (state in ('in_flight', 'unknown', 'accepted', 'rejected', 'not_sent', 'absent')),
  -- No byte of the submit leaves after this moment.
  send_before timestamptz not null,
  job_id text,
  cause jsonb,
  created_at timestamptz not null default clock_now(),
  outcome_at timestamptz,
  -- Who determined its outcome; assumption: the operator's policy.
  outcome_by text check (outcome_by in ('sender', 'find', 'callback', 'operator', 'assumption')),
  constraint accepted_attempts_have_a_job check ((state = 'accepted') = (job_id is not null))
);
create index attempts_task on attempts (task_id);
create unique index one_live_attempt on attempts (task_id)
  where state in ('in_flight', 'unknown', 'accepted');
create unique index one_attempt_per_job on attempts (provider, job_id) where job_id is not null;
-- Submits under way, and those whose sender died.
create index attempts_in_flight on attempts (provider) where state = 'in_flight';
-- Attempts that may own a job that looks like another attempt's.
create index attempts_with_possible_job on attempts (provider, send_before)
  where state in ('in_flight', 'unknown') or (state = 'absent' and outcome_by in ('operator', 'assumption'));
-- For metrics.
create index attempts_reconciled on attempts (outcome_by, state) where outcome_by in ('find', 'callback');
create index attempts_assumed on attempts (provider) where outcome_by = 'assumption';

-- A finding about an attempt, from one source. A repeated finding only increases the counter.
create table evidence (
  attempt_id text not null references attempts,
  source text not null check (source in ('sender', 'find', 'callback', 'operator')),
  finding jsonb not null,
  digest text not null,
  times integer not null default 1,
  first_at timestamptz not null default clock_now(),
  last_at timestamptz not null default clock_now(),
  primary key (attempt_id, source, digest)
);
create index evidence_decisions on evidence (attempt_id) where source = 'operator';
create index evidence_jobs on evidence ((finding->>'job')) where source = 'callback';
-- Late responses of submits, by the job that they name.
create index evidence_sender_jobs on evidence ((finding->>'job'))
  where source = 'sender' and finding->>'job' is not null;

-- A job that an attempt has at its provider and that no task uses: it came to light after the task
-- had ended, or in addition to the task's job. suspected: an unsigned callback named it, and nobody
-- has checked yet.
create table orphan_jobs (
  provider text not null,
  job_id text not null,
  attempt_id text not null references attempts,
  task_id text not null references tasks,
  source text not null check (source in ('sender', 'callback')),
  state text not null check (state in ('suspected', 'confirmed', 'unknown_there')),
  status jsonb,
  found_at timestamptz not null default clock_now(),
  checked_at timestamptz,
  -- When it was reported in the log.
  reported_at timestamptz,
  -- When an operator acknowledged it: from then on it is neither listed nor counted.
  acknowledged_at timestamptz,
  primary key (provider, job_id)
);
create index orphan_jobs_task on orphan_jobs (task_id);
-- The deletion of an attempt looks for its orphan jobs.
create index orphan_jobs_attempt on orphan_jobs (attempt_id);
create index orphan_jobs_suspected on orphan_jobs (found_at) where state = 'suspected';
create index orphan_jobs_unreported on orphan_jobs (found_at)
  where state = 'confirmed' and reported_at is null;

-- A request to cancel the job of an accepted task at its provider.
create table cancel_requests (
  task_id text primary key,
  requested_by text not null,
  requested_at timestamptz not null default clock_now(),
  -- requested: the provider has not been asked yet. accepted: it cancels the job, or has cancelled
  -- it.
  state text not null default 'requested' check (state in ('requested', 'accepted', 'refused')),
  -- When a worker may ask the provider; later after a failure.
  ask_after timestamptz not null default clock_now(),
  -- The provider's reply, or the last failure to ask it.
  cause text
);
create index cancel_requests_open on cancel_requests (ask_after) where state = 'requested';

-- How long jobs of one kind take, learned from those that succeeded.
create table job_times (
  provider text not null,
  model text not null,
  resolution text not null,
  video_seconds integer not null,
  jobs bigint not null,
  mean_seconds double precision not null,
  deviation_seconds double precision not null,
  primary key (provider, model, resolution, video_seconds)
);

-- A worker process. One not seen for a while is dead.
create table workers (
  id text primary key,
  -- The providers that it has configured.
  providers text[] not null,
  -- How many tasks it ingests at once.
  ingest_places integer not null,
  seen_at timestamptz not null
);

-- The only row: the latest time that a worker has read from the database's clock. A clock behind it
-- was set back.
create table clock_marks (
  one_row boolean primary key default true check (one_row),
  latest timestamptz not null
) with (fillfactor = 50);
insert into clock_marks (latest) values (clock_now());


-- uploads -------------------------------------------------------------------------------------------

-- A file that an account has uploaded, to use it in tasks (docs/decisions/0050-api-uploads.md).
create table uploads (
  object_id text primary key references stored_objects,
  account_id text not null references accounts,
  -- Whose quota it counts against: SHA-256 of the mailbox, which may have several accounts.
  mailbox_hash bytea not null,
  kind text not null check (kind in ('image', 'video')),
  -- As displayed, with the orientation applied; null: uploaded to the bucket by a link, not
  -- measured.
  width integer,
  height integer,
  -- For a video, as measured.
  duration_seconds double precision,
  -- How many days after its last use it is kept.
  lasts_days smallint not null default 7,
  created_at timestamptz not null default clock_now()
);
create index uploads_account on uploads (account_id);
create index uploads_mailbox on uploads (mailbox_hash);


-- providers -----------------------------------------------------------------------------------------

-- A job of the local renderer or of a test key: their own record, like that of an outside provider.
-- barred: a find found no job of that attempt, so none may come any more.
create table local_jobs (
  id text primary key,
  spec jsonb not null,
  state text not null default 'queued'
    check (state in ('barred', 'queued', 'rendering', 'succeeded', 'failed')),
  -- A test key's job works until then; `state` is the one that follows.
  ends_at timestamptz,
  leased_until timestamptz,
  -- Grows with each start, as a fencing token: only the latest start may finish the job.
  renders integer not null default 0,
  object_id text,
  cause text,
  created_at timestamptz not null default clock_now()
);
create index local_jobs_waiting on local_jobs (created_at) where state in ('queued', 'rendering');

-- When any process may make the next call of one kind on a quota. Unlogged: a crash of the database
-- resets the count.
create unlogged table provider_turns (
  quota text not null,
  purpose text not null,
  next_free timestamptz not null,
  -- When the newest turn was taken: if that is in the future, the clock was set back.
  taken_at timestamptz,
  primary key (quota, purpose)
) with (fillfactor = 50);

-- The circuit breaker of a provider. A row without closed_until only counts failures.
create table provider_outages (
  provider text primary key,
  -- Consecutive failed submits, and when the last one failed.
  failures integer not null,
  failed_at timestamptz not null,
  cause jsonb not null,
  -- Consecutive closings of the provider: each lasts longer.
  closings integer not null default 0,
  closed_since timestamptz,
  -- Until then nothing is submitted; afterwards, one submit at a time until one gets through.
  closed_until timestamptz,
  -- The one submit under way after closed_until ends before this time.
  probe_until timestamptz,
  -- After closed_until, the next create is let through at this time.
  next_create_at timestamptz,
  constraint closed_providers_have_times check ((closed_until is null) = (closed_since is null))
);

-- An operator's pause: of all creates (`creates`), or of submits to a provider (its name).
create table pauses (
  subject text primary key,
  reason text not null,
  paused_at timestamptz not null default clock_now()
);


-- webhooks (docs/decisions/0047-webhooks.md) ---------------------------------------------------------

-- A customer's URL that events are sent to.
create table webhook_endpoints (
  id text primary key,
  account_id text not null,
  -- Which tasks' events it gets: those of live keys or of test keys.
  mode text not null default 'live' check (mode in ('live', 'test')),
  -- null: events are only kept in the log.
  url text,
  description text,
  events text[] not null,
  secret text not null,
  -- The previous secret: both sign until this time.
  earlier_secret text,
  earlier_secret_until timestamptz,
  created_at timestamptz not null default clock_now(),
  disabled_at timestamptz,
  disabled_because text check (disabled_because in ('owner', 'gone', 'failing')),
  deleted_at timestamptz,
  -- Since the last success: turns in which every delivery failed, and since when.
  failures integer not null default 0,
  failing_since timestamptz,
  -- How long the slowest delivery of the last turn with a success took; null: there was none.
  took_ms integer,
  -- The circuit breaker: nothing is delivered before this time.
  paused_until timestamptz,
  -- One process at a time delivers to an endpoint.
  leased_until timestamptz,
  -- A mail to write to its owner: what happened, and what caused it; null: none.
  notice text check (notice in ('created', 'replaced', 'moved', 'gone', 'failing')),
  notice_from text,
  -- When the last mail about the endpoint was written.
  told_at timestamptz
);
create index webhook_endpoints_account on webhook_endpoints (account_id) where deleted_at is null;
create index webhook_endpoints_deleted on webhook_endpoints (deleted_at) where deleted_at is not null;
create index webhook_endpoints_notices on webhook_endpoints (id) where notice is not null;

-- An event for one endpoint. It has no foreign key to its endpoint, so that the statement that moves tasks
-- takes no lock on the endpoint.
create table webhook_deliveries (
  id bigint generated always as identity primary key,
  event_id text not null,
  endpoint_id text not null,
  type text not null,
  task_id text,
  -- The event's data, unless it is about a task, which is read when the event is sent.
  data jsonb,
  created_at timestamptz not null default clock_now(),
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- When it is sent next; null: never again.
  due_at timestamptz default clock_now(),
  unique (endpoint_id, event_id)
);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at) where due_at is not null;
create index webhook_deliveries_listed on webhook_deliveries (endpoint_id, id);
create index webhook_deliveries_created on webhook_deliveries (created_at);

-- One POST of a delivery.
create table webhook_attempts (
  delivery_id bigint not null references webhook_deliveries on delete cascade,
  number integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  -- The HTTP status; null without a response.
  status integer,
  -- Why there was no response.
  cause text,
  -- The start of the response's body.
  response text,
  primary key (delivery_id, number)
);


-- sign-in -------------------------------------------------------------------------------------------

-- A person's session in one browser.
create table sessions (
  id text primary key,
  -- SHA-256 of the token in the cookie.
  token_hash bytea not null unique,
  account_id text not null references accounts,
  created_at timestamptz not null default clock_now(),
  -- Updated at most once an hour.
  seen_at timestamptz not null default clock_now(),
  expires_at timestamptz not null,
  -- How the person signed in: code, passkey, github, google, oidc.
  method text not null,
  -- The client's network, not its address.
  network text,
  -- The name of the browser and its operating system.
  browser text,
  -- When the person last proved who they are; null: not since the sign-in.
  proved_at timestamptz
);
create index sessions_account on sessions (account_id);
create index sessions_expires on sessions (expires_at);

-- A mailed code that signs in the owner of an address. A new one replaces it.
create table sign_in_codes (
  email text primary key,
  code_hash bytea not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
create index sign_in_codes_expires on sign_in_codes (expires_at);

-- A mailed code that reauthenticates the person in the session that asked for it. It signs nobody
-- in. No foreign key: the code of an ended session is useless, and expires.
create table proof_codes (
  session_id text primary key,
  code_hash bytea not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
create index proof_codes_expires on proof_codes (expires_at);

-- A key on a person's device that signs challenges.
create table passkeys (
  -- The credential's id, in base64url.
  id text primary key,
  account_id text not null references accounts,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null default '{}',
  name text not null,
  created_at timestamptz not null default clock_now(),
  used_at timestamptz
);
create index passkeys_account on passkeys (account_id);

-- A challenge for a passkey to sign. It is deleted when it is used.
create table passkey_challenges (
  challenge text primary key,
  -- Set for a person who adds a passkey.
  account_id text references accounts,
  -- The session that is being reauthenticated with a passkey.
  session_id text,
  expires_at timestamptz not null
);
create index passkey_challenges_expires on passkey_challenges (expires_at);
create index passkey_challenges_account on passkey_challenges (account_id);

-- A person's account elsewhere, used to sign in.
create table identities (
  -- github, or the address of an OpenID Connect issuer.
  issuer text not null,
  subject text not null,
  account_id text not null references accounts,
  created_at timestamptz not null default clock_now(),
  primary key (issuer, subject)
);
create index identities_account on identities (account_id);

-- A sign-in that continues at an issuer. It is deleted when the person comes back.
create table sign_in_starts (
  -- SHA-256 of the token in the short-lived cookie.
  token_hash bytea primary key,
  provider text not null,
  state text not null,
  nonce text not null,
  code_verifier text not null,
  next text not null,
  expires_at timestamptz not null
);
create index sign_in_starts_expires on sign_in_starts (expires_at);

-- A mailbox that has received the promotional credits of a new account (SIGNUP_CREDITS). The row
-- outlives the account by a year: deleting the account and signing up again gives no further
-- credits.
create table signup_grants (
  -- SHA-256 of the mailbox.
  address_hash bytea primary key,
  granted_at timestamptz not null default clock_now()
);
create index signup_grants_granted on signup_grants (granted_at);


-- billing (docs/decisions/0030-billing.md) -----------------------------------------------------------
-- Prices are in minor units, such as cents. Columns that begin with stripe_ hold ids of Stripe
-- objects, except stripe_mode and stripe_account: the Stripe mode and account that the row's ids
-- belong to (account null: not known).

-- A pack or a plan, edited by operators.
create table offers (
  id text primary key,
  kind text not null check (kind in ('pack', 'plan')),
  name text not null,
  credits bigint not null check (credits > 0),
  price bigint not null check (price > 0),
  currency text not null,
  -- How often a plan is paid.
  period text check (period in ('month', 'year')),
  -- After how many days the credits expire; null: never.
  expires_days integer check (expires_days > 0),
  active boolean not null default true,
  created_at timestamptz not null default clock_now(),
  check ((kind = 'plan') = (period is not null))
);

-- The terms of a Stripe price that a subscription may have. They never change.
create table plan_prices (
  stripe_price text primary key,
  stripe_product text not null,
  stripe_mode text not null check (stripe_mode in ('test', 'live')),
  stripe_account text,
  plan_id text not null references offers,
  credits bigint not null,
  price bigint not null,
  currency text not null,
  period text not null,
  expires_days integer,
  -- When the price was archived at Stripe: nobody can subscribe to it any more.
  gone_at timestamptz
);
create index plan_prices_plan on plan_prices (plan_id);

-- The configuration of the Customer Portal for a set of plans.
create table portal_configurations (
  digest text primary key,
  stripe_configuration text not null,
  stripe_mode text not null check (stripe_mode in ('test', 'live')),
  stripe_account text
);

-- An account's Stripe customer, in one Stripe mode and account.
create table stripe_customers (
  account_id text not null references accounts,
  stripe_mode text not null check (stripe_mode in ('test', 'live')),
  stripe_account text,
  stripe_customer text not null
);
create unique index stripe_customers_one on stripe_customers
  (account_id, stripe_mode, coalesce(stripe_account, ''));
create index stripe_customers_customer on stripe_customers (stripe_customer);

-- What happens when the credits of an account run low.
create table billing_accounts (
  account_id text primary key references accounts,
  -- A mail is sent when the available paid credits fall below this; null: none.
  alert_below bigint check (alert_below > 0),
  -- When the mail and the event about the current shortage were written; null: no shortage.
  alerted_at timestamptz,
  -- The pack that is bought when the available paid credits fall below reload_below; null: none.
  reload_pack text references offers,
  reload_below bigint check (reload_below > 0),
  -- The most that automatic purchases may cost in a calendar month (UTC).
  reload_limit bigint check (reload_limit > 0),
  -- Why automatic purchases have stopped until the customer switches them on again.
  reload_stopped text,
  check ((reload_pack is null) = (reload_below is null)),
  check ((reload_pack is null) = (reload_limit is null))
);
create index billing_accounts_watched on billing_accounts (account_id)
  where alert_below is not null or reload_pack is not null;

-- A subscription to a plan.
create table subscriptions (
  id text primary key,
  account_id text not null references accounts,
  plan_id text not null references offers,
  stripe_mode text not null check (stripe_mode in ('test', 'live')),
  stripe_account text,
  stripe_checkout text unique,
  checkout_url text,
  stripe_subscription text unique,
  -- opening: Checkout is not completed. expired: it never was. Otherwise Stripe's status.
  state text not null default 'opening',
  renews_at timestamptz,
  -- When it ends, if it was canceled.
  ends_at timestamptz,
  revision bigint not null default 0,
  -- When Stripe is asked next; null: only if an event says so.
  due_at timestamptz default clock_now() + interval '1 minute',
  created_at timestamptz not null default clock_now(),
  settled_at timestamptz
);
-- A subscription in test mode does not keep an account from buying in live mode.
create unique index subscriptions_one_live_of_mode on subscriptions
  (account_id, stripe_mode, coalesce(stripe_account, ''))
  where state not in ('canceled', 'incomplete_expired', 'expired');
create index subscriptions_due on subscriptions (due_at) where due_at is not null;

-- One purchase.
create table orders (
  id text primary key,
  account_id text not null references accounts,
  -- pack: by Checkout. reload: a pack bought automatically. invoice: an invoice of a subscription.
  kind text not null check (kind in ('pack', 'reload', 'invoice')),
  -- What was sold, and for how much; never changes. No credits: no plan matches any line of the
  -- invoice.
  offer_id text not null references offers,
  subscription_id text references subscriptions,
  credits bigint not null check (credits >= 0),
  price bigint not null check (price >= 0),
  currency text not null,
  expires_days integer,
  -- Whether the Checkout of a pack also saves the card; null: no Checkout.
  saves_card boolean,

  stripe_mode text not null check (stripe_mode in ('test', 'live')),
  stripe_account text,
  -- The Checkout session, payment intent or invoice; null: not known to be open.
  stripe_id text unique,
  checkout_url text,
  -- The payment intent, and the total paid, including taxes.
  stripe_payment text,
  amount bigint,
  refunded bigint not null default 0,
  -- The amount now in dispute; dispute: Stripe's status of it.
  disputed bigint not null default 0,
  dispute text,
  receipt_url text,
  failure text,

  -- mismatched: another amount or currency was paid.
  state text not null default 'pending'
    check (state in ('pending', 'paid', 'failed', 'expired', 'mismatched')),
  -- The credits booked, and the number of movements: order:ID:1, order:ID:2...
  booked bigint not null default 0,
  movements integer not null default 0,
  expires_at timestamptz,
  -- For a failed automatic purchase whose payment was not found: until then a charge already sent
  -- may still take effect and counts as spent; null: it was looked for, or no charge can be under
  -- way.
  may_be_paid_until timestamptz,
  revision bigint not null default 0,
  due_at timestamptz default clock_now() + interval '1 minute',
  created_at timestamptz not null default clock_now(),
  paid_at timestamptz,
  settled_at timestamptz,
  check (booked >= 0 and booked <= credits)
);
create index orders_account on orders (account_id, created_at, id);
create index orders_created on orders (created_at, id);
create index orders_payment on orders (stripe_payment);
create index orders_due on orders (due_at) where due_at is not null;
create index orders_disputed on orders (created_at, id) where dispute is not null;
create index orders_mismatched on orders (settled_at) where state = 'mismatched';
create unique index orders_one_reload_of_mode on orders
  (account_id, stripe_mode, coalesce(stripe_account, ''))
  where kind = 'reload' and state = 'pending';

-- A payment of an invoice that was paid in parts, beside orders.stripe_payment: its events wake the order.
create table order_payments (
  stripe_payment text not null,
  order_id text not null references orders,
  primary key (stripe_payment, order_id)
);

-- A Stripe invoice or payment without an order that an operator asked about. A worker finds or
-- makes the order. Old rows are deleted.
create table payment_lookups (
  stripe_id text primary key,
  asked_at timestamptz not null default clock_now(),
  -- When a worker looks; null: done.
  due_at timestamptz default clock_now(),
  -- What it found: an order, or why there is none.
  order_id text references orders,
  answer text
);
create index payment_lookups_due on payment_lookups (due_at) where due_at is not null;
create index payment_lookups_asked on payment_lookups (asked_at);

-- A received Stripe event, which wakes its order or subscription once.
create table stripe_events (
  id text primary key,
  type text not null,
  received_at timestamptz not null default clock_now()
);
create index stripe_events_received on stripe_events (received_at);


-- mail ----------------------------------------------------------------------------------------------

-- The outbox: a mail to an account's owner still to be sent, written together with the change that
-- it reports.
create table mails (
  id text primary key,
  account_id text not null,
  subject text not null,
  text text not null,
  created_at timestamptz not null default clock_now(),
  -- When a process may take it, or retake it if the last try has not ended.
  due_at timestamptz not null default clock_now(),
  tries integer not null default 0
);
create index mails_due on mails (due_at);
create index mails_account on mails (account_id);


-- operator ------------------------------------------------------------------------------------------

-- An operator's change by a command, written in the transaction of the change.
create table operator_actions (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_now(),
  -- Who ran the command: the OS user and host, or the value of --by.
  actor text not null,
  -- The name of the command, such as 'accounts disable'.
  command text not null,
  -- The id of what was changed: an account, an API key, a task, an object, a provider.
  target text not null,
  reason text,
  -- More about the change, such as the amount and reference of a grant.
  details jsonb
);
create index operator_actions_target on operator_actions (target, id);

-- An audit that an operator started in the console.
create table audit_runs (
  id bigint generated always as identity primary key,
  actor text not null,
  started_at timestamptz not null default clock_now(),
  -- Heartbeat while it runs. If it is old, the process has died.
  seen_at timestamptz not null default clock_now(),
  ended_at timestamptz,
  -- Null if the audit could not be finished.
  found integer,
  problems jsonb,
  failure text
);
create unique index one_audit_at_a_time on audit_runs ((ended_at is null)) where ended_at is null;


-- site ----------------------------------------------------------------------------------------------

-- A file of /packages/, as first served. Customers' lockfiles have its digest, so it is kept when
-- the service has a newer version.
create table client_packages (
  name text primary key,
  sha256 text not null,
  bytes bytea not null,
  kept_at timestamptz not null default clock_now()
);


-- database (docs/decisions/0019-restored-database.md) -------------------------------------------------
-- The table `migrations` is made by the program that migrates.

-- The only row, which each worker advances every few seconds. A database restored from a back-up,
-- or replaced by a lagging replica, has an older row than the workers remember, or another server.
create table database_marks (
  one_row boolean primary key default true check (one_row),
  epoch uuid not null default gen_random_uuid(),
  -- Epochs that an operator ended with `framewright restored`.
  retired_epochs uuid[] not null default '{}',
  beat bigint not null default 0,
  -- Where the row was last written: the server, its timeline, and this table in it.
  system_identifier text,
  timeline text,
  table_oid text
) with (fillfactor = 50);
insert into database_marks default values;

-- A recovery of the database. Until it has ended, no task is claimed and no attempt begins.
create table recoveries (
  id bigint generated always as identity primary key,
  began_at timestamptz not null default clock_now(),
  cause text not null,
  ended_at timestamptz
);
create unique index one_recovery_at_a_time on recoveries ((ended_at is null)) where ended_at is null;
