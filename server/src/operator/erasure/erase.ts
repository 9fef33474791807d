import { FORGET_LOW_BALANCE } from '../../billing/low-balance/settings.ts';
import { closePaymentPages } from '../../billing/payment-pages.ts';
import { type Database, statement, type Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { endDeletion, endGrace, forgetSignIn } from '../../sign-in/deletion.ts';
import { FINDING_TEXTS } from '../../tasks/attempts/evidence.ts';
import { eraseOf as eraseWebhooks } from '../../webhooks/endpoints.ts';
import { type Action, performAction } from '../actions.ts';

// The account's key is not locked: an order that is settled meanwhile can refer to it.
const STATE = statement(
  'erase_state',
  `select disabled_at < clock_now() - interval '1 minute' as is_idle, erased_at is not null as
     is_erased from accounts where id = $1 for no key update`,
);

interface State {
  /** Disabled long enough that no admitted create is under way any more; null: not disabled. */
  is_idle: boolean | null;
  is_erased: boolean;
}

const LIVE = statement(
  'erase_live_tasks',
  'select count(*)::int as tasks from tasks where account_id = $1 and due_at is not null',
);

/** How many tasks one transaction erases, so that it is short. */
const BATCH = 200;
const ERASED = 'erased';

const NEXT = statement(
  'erase_next_tasks',
  `select id from tasks
   where account_id = $1 and due_at is null and request->'erased' is null
   order by created_at limit ${BATCH} for update`,
);

function erasedRequest(request: string): string {
  return `(${request}) - '{image_url,end_image_url}'::text[] || '{"prompt": "${ERASED}",
         "erased": true, "reference_image_urls": [], "reference_video_urls": []}'::jsonb`;
}

/** A list of the record of an archived task, each entry without its cause. */
function erasedList(list: string, entry: string): string {
  return `(select coalesce(jsonb_agg(${entry} - 'cause' order by n), '[]')
         from jsonb_array_elements(${list}) with ordinality as entry (one, n))`;
}

const ERASED_ATTEMPT = `(one || jsonb_build_object('evidence',
         (select coalesce(jsonb_agg(e || jsonb_build_object(
           'finding', (e->'finding') - ${FINDING_TEXTS}) order by k), '[]')
          from jsonb_array_elements(one->'evidence') with ordinality as found (e, k))))`;

// Ids, sizes, times, prices and states stay: the books and the audit need them.
const ERASE_TASKS = [
  statement(
    'erase_task',
    `update tasks set provider_output = null, error_details = null,
       error_message = case when error_message is null then null else '${ERASED}' end,
       request = ${erasedRequest('request')}
     where id = any($1)`,
  ),
  statement(
    'erase_objects',
    `update objects set taken_down_at = coalesce(taken_down_at, clock_now()),
       state = case state when 'deleted' then 'deleted' else 'deleting' end
     where task_id = any($1) or (role = 'render' and task_id = any(array(
       select job_id from attempts where task_id = any($1) and job_id is not null)))`,
  ),
  statement('erase_history', 'update task_history set cause = null where task_id = any($1)'),
  statement(
    'erase_evidence',
    `update evidence set finding = finding - ${FINDING_TEXTS}
     where attempt_id = any(array(select id from attempts where task_id = any($1)))`,
  ),
  statement(
    'erase_local_jobs',
    `update local_jobs set spec = '{}'
     where id = any(array(select id from attempts where task_id = any($1)))`,
  ),
  // The status of an orphan job has a link.
  statement('erase_orphans', 'update orphan_jobs set status = null where task_id = any($1)'),
  statement('erase_attempts', 'update attempts set cause = null where task_id = any($1)'),
];

const NEXT_ARCHIVED = statement(
  'erase_next_archived',
  `select id from archived_tasks where account_id = $1 and id > $2 and erased_at is null
   order by id limit ${BATCH} for update`,
);

const ERASE_ARCHIVED = statement(
  'erase_archived',
  `update archived_tasks set erased_at = clock_now(),
     taken_down_at = coalesce(taken_down_at, clock_now()),
     record = record || jsonb_build_object(
       'task', (record->'task') || jsonb_build_object(
         'provider_output', null, 'error_details', null, 'error_message',
         case when record#>>'{task,error_message}' is not null then '${ERASED}' end,
         'request', ${erasedRequest("record#>'{task,request}'")}),
       'history', ${erasedList("record->'history'", 'one')},
       'attempts', ${erasedList("record->'attempts'", ERASED_ATTEMPT)})
   where id = any($1)`,
);

const ERASE_ACCOUNT = [
  FORGET_LOW_BALANCE,
  statement(
    'erase_account',
    `update accounts set email = 'erased:' || id, erased_at = clock_now() where id = $1`,
  ),
  statement(
    'erase_keys',
    `update api_keys set name = null, revoked_at = coalesce(revoked_at, clock_now())
     where account_id = $1`,
  ),
  statement(
    'erase_key_addresses',
    `update api_key_uses set last_used_address = null
     where api_key_id = any(array(select id from api_keys where account_id = $1))`,
  ),
  statement(
    'erase_uploads',
    `update objects set taken_down_at = coalesce(taken_down_at, clock_now()), state = 'deleting'
     where task_id = $1 and role = 'upload' and state in ('writing', 'ready')`,
  ),
  statement('erase_upload_facts', 'delete from uploads where account_id = $1'),
  // The fingerprint is a hash of the request: a short prompt could be guessed.
  statement(
    'erase_fingerprints',
    `update idempotency_keys set fingerprint = '' where account_id = $1`,
  ),
];

/**
 * Removes the personal data of a disabled account for good: its e-mail address, the ways to sign
 * in, the names and last addresses of its keys, the prompts and URLs of its tasks, and its files.
 * Its credits, transfers and the ids, prices and times of its tasks stay. Archived tasks are erased
 * after the others, so that a task that is archived meanwhile is not left out. An interrupted run
 * is continued by the next one.
 * @returns changed: false when it was erased before
 * @throws UsageError when the account is not disabled for a minute, or has live tasks
 */
export async function eraseAccount(db: Database, action: Action, accountId: string) {
  const before = await db.transaction(async (tx) => {
    const state = await requireIdle(tx, accountId);
    await endGrace(tx, accountId); // from now on its owner can't reopen it
    return state;
  });
  let tasks = 0;
  for (;;) {
    const erased = await db.transaction((tx) => eraseTasks(tx, accountId));
    tasks += erased;
    if (erased === 0) break;
  }
  tasks += await eraseArchived(db, accountId);
  return performAction(db, action, { target: accountId }, async (tx) => {
    const { is_erased: wasErased } = await requireIdle(tx, accountId);
    if (!wasErased) {
      await closePaymentPages(tx, accountId);
      await forgetSignIn(tx, accountId); // it finds the code by the address
      await eraseWebhooks(tx, accountId);
      for (const erase of ERASE_ACCOUNT) await tx.query(erase, [accountId]);
    }
    await endDeletion(tx, accountId);
    // Another run may have ended first; then the record of the erasure is that run's.
    const changed = !wasErased || (before.is_erased && tasks > 0);
    return { account_id: accountId, erased_tasks: tasks, changed };
  });
}

async function requireIdle(tx: Transaction, accountId: string): Promise<State> {
  const [state] = await tx.query<State>(STATE, [accountId]);
  if (!state?.is_idle) {
    const why =
      state?.is_idle === false
        ? 'was disabled less than a minute ago: run the command again in a minute'
        : 'is not disabled: run npx framewright accounts disable, and erase it a minute later';
    throw new UsageError(`${accountId} ${why}`);
  }
  const [live] = await tx.query<{ tasks: number }>(LIVE, [accountId]);
  if (live && live.tasks > 0) {
    throw new UsageError(
      `${accountId} has ${live.tasks} live tasks: wait until they have ended, cancel them ` +
        '(npx framewright tasks cancel) or decide them (npx framewright reconcile)',
    );
  }
  return state;
}

async function eraseTasks(tx: Transaction, accountId: string): Promise<number> {
  const rows = await tx.query<{ id: string }>(NEXT, [accountId]);
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) for (const erase of ERASE_TASKS) await tx.query(erase, [ids]);
  return ids.length;
}

async function eraseArchived(db: Database, accountId: string): Promise<number> {
  let tasks = 0;
  for (let after: string | undefined = ''; after !== undefined; ) {
    const ids: string[] = await db.transaction((tx) => eraseArchivedPage(tx, accountId, after));
    tasks += ids.length;
    after = ids.at(-1);
  }
  return tasks;
}

async function eraseArchivedPage(
  tx: Transaction,
  accountId: string,
  after: string | undefined,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(NEXT_ARCHIVED, [accountId, after]);
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await tx.query(ERASE_ARCHIVED, [ids]);
  return ids;
}
