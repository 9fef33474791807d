import type { Database, Queryable } from '../../src/database/database.ts';
import { sql } from '../task-fixtures.ts';

/** How many tasks have ended, and how many live tasks wait for a time in the future. */
export interface Filling {
  ended: number;
  live: number;
}

const ACCOUNTS = 200;

// Tasks, oldest first. The live ones come last: of ten, six generate, two are held, one is to be
// submitted and one is to be ingested.
const TASKS = `
  insert into tasks (id, account_id, surface, idempotency_key, phase, held_cause, request, seed,
    api_key_id, credits, price_version, provider, wait_until, announced_at, accepted_at, due_at,
    output_object_id, error_code, created_at, updated_at)
  select 'task_' || id, 'acc_' || n % ${ACCOUNTS}, 'api', 'key-' || id, phase,
    case when phase = 'held' then case when n % 2 = 0 then 'acceptance' else 'outcome' end end,
    jsonb_build_object('mode', case when phase = 'reserved' then 'image-to-video'
      else 'text-to-video' end, 'model', 'video-2.0-fast', 'prompt', repeat('a lighthouse ', 10)),
    n, 'key_acc_' || n % ${ACCOUNTS}, 250, 1, 'local', at, at,
    case when phase <> 'submitting' then at end,
    case when n > $1::int then clock_now() + n % 600 * interval '1 second' + interval '1 hour' end,
    case when phase = 'completed' then 'obj_' || id end,
    case when phase = 'failed' then 'provider_failed' end, at, at
  from (select n, lpad(n::text, 9, '0') as id,
      clock_now() - ($1::int + $2::int - n) * interval '10 seconds' as at,
      case when n <= $1::int then case when n % 5 = 0 then 'failed' else 'completed' end
        else (array['generating', 'generating', 'generating', 'generating', 'generating',
          'generating', 'held', 'held', 'submitting', 'reserved'])[n % 10 + 1] end as phase
    from generate_series(1, $1::int + $2::int) n) drawn`;

const ATTEMPTS = `
  insert into attempts (id, task_id, provider, state, send_before, job_id, created_at, outcome_at,
    outcome_by, provider_identity)
  select 'att_' || id, id, provider,
    case when held_cause = 'acceptance' then 'unknown' else 'accepted' end,
    created_at + interval '5 seconds',
    case when held_cause = 'acceptance' then null else 'job-' || id end,
    created_at, created_at, 'sender', 'identity'
  from tasks where phase not in ('reserved', 'submitting')`;

const OBJECTS = `
  insert into stored_objects (id, owner_id, role, state, media_type, size_bytes, delete_after, created_at)
  select output_object_id, id, 'output',
    case when updated_at + interval '30 days' > clock_now() then 'ready' else 'deleted' end,
    'video/mp4', 1000000, updated_at + interval '30 days', updated_at
  from tasks where output_object_id is not null
  union all
  select 'in_' || id, id, 'input', 'deleted', 'image/png', 1000, null, created_at
  from tasks where due_at is null`;

const TRANSFERS = `
  insert into ledger_transfers (account_id, kind, source, target, credits, reason, reference,
    available_after, reserved_after, created_at)
  select account_id, 'paid', 'available', 'reserved', 250, 'reserve', 'reserve:' || id, 0, 250,
    created_at from tasks
  union all
  select account_id, 'paid', 'reserved', case phase when 'failed' then 'available' else 'spent' end,
    250, case phase when 'failed' then 'refund' else 'capture' end, 'settle:' || id, 0, 0, updated_at
  from tasks where due_at is null`;

const REST = {
  history: `insert into task_history (task_id, at, phase)
   select id, created_at, p from tasks, unnest(array['submitting', 'generating']) p`,
  annotations: `insert into task_annotations (task_id, account_id, created_at, is_starred, tags)
   select id, account_id, created_at, id like '%9', array['a tag'] from tasks where id like '%3' or id like '%9'`,
  keys: `insert into idempotency_keys (account_id, surface, key, fingerprint, task_id, created_at)
   select account_id, surface, idempotency_key, sha256(id::bytea), id, created_at from tasks`,
  evidence: `insert into evidence (attempt_id, source, finding, digest)
   select id, source, jsonb_build_object('job', 'job-' || task_id, 'verified', true), md5(id)
   from attempts, unnest(array['callback', 'sender']) source`,
  endpoints: `insert into webhook_endpoints (id, account_id, url, events, secret)
   select 'we_' || id, id, 'https://example.com', array['task.completed', 'task.failed'], 'whsec_' from accounts`,
  deliveries: `insert into webhook_deliveries (event_id, endpoint_id, type, task_id, created_at, state, due_at)
   select 'evt_' || id, 'we_' || account_id, 'task.' || phase, id, updated_at, 'delivered', null from tasks
   where due_at is null
   union all
   select 'evt_late_' || n, 'we_acc_' || n % 5, 'credits.low', null, clock_now(), 'waiting',
     clock_now() + n % 600 * interval '1 second' + interval '1 hour' from generate_series(1, 2000) n`,
  tries: `insert into webhook_attempts (delivery_id, number, at, duration_ms, status)
   select id, 1, created_at, 80, 204 from webhook_deliveries where state = 'delivered'`,
  files: `insert into stored_objects (id, owner_id, role, state, media_type, size_bytes, delete_after, created_at)
   select 'up_' || id, account_id, 'upload', case when id like '%9' then 'writing' else 'ready' end,
     'image/png', 1000, clock_now() + interval '1 day', clock_now() from tasks where phase = 'completed'`,
  hashes: `insert into frame_hashes (object_id, hashes, bands)
   select id, array[('x' || repeat(md5(id), 2))::bit(256)], array(select b * 65536 + abs(hashtext(id || b)) % 65536
     from generate_series(0, 3) b) from stored_objects where role = 'output'`,
  uploads: `insert into uploads (object_id, account_id, mailbox_hash, kind)
   select id, owner_id, sha256(owner_id::bytea), 'image' from stored_objects where role = 'upload'`,
};

const TABLES = {
  tasks: TASKS,
  attempts: ATTEMPTS,
  objects: OBJECTS,
  transfers: TRANSFERS,
  ...REST,
};

/**
 * Fills an empty database with rows as a service leaves them, and updates the planner's
 * statistics. The balances don't agree with the transfers: only plans and speed are tested here.
 */
export async function fillDatabase(db: Database, filling: Filling): Promise<void> {
  await insertRows(db, filling);
  await sql(db, 'vacuum analyze');
}

/** Inserts the rows alone. @param report is called after each set of rows */
export async function insertRows(
  db: Queryable,
  { ended, live }: Filling,
  report: (rows: string) => void = () => {},
): Promise<void> {
  const insert = `insert into accounts (id, email) select 'acc_' || n, n || '@example.com'
    from generate_series(0, ${ACCOUNTS - 1}) n`;
  await sql(db, insert);
  const add = `insert into api_keys (id, account_id, secret_hash)
    select 'key_' || id, id, sha256(id::bytea) from accounts`;
  await sql(db, add);
  await sql(db, `insert into ledger_balances (account_id, kind) select id, 'paid' from accounts`);
  for (const [rows, text] of Object.entries(TABLES)) {
    await sql(db, text, text === TASKS ? [ended, live] : []);
    report(rows);
  }
}
