import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { makeHeldTask, openTaskFixture, sql, untilBlocked } from '../../test/task-fixtures.ts';
import { createAccount, disableAccount, enableAccount } from '../accounts/accounts.ts';
import { reopenAccount } from '../accounts/closing.ts';
import { recordEvidence } from '../attempts/evidence.ts';
import { checkOrphans, recordOrphans } from '../attempts/orphans.ts';
import { balances } from '../ledger/ledger.ts';
import type { Provider } from '../providers/provider.ts';
import { closeAccount } from '../sign-in/deletion.ts';
import type { Task } from '../tasks/task.ts';
import { listActions } from './actions.ts';
import { eraseAccount, eraseClosedAccounts } from './erase.ts';
import { reconcile } from './reconcile.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

const ACTION = { command: 'accounts erase', actor: 'ada', reason: 'ticket 93' };
const erase = (accountId: string) => eraseAccount(db, ACTION, accountId);
const SECRET = 'lighthouse-of-ada';

/** Every row of every table that has the text in it. */
async function rowsWith(text: string): Promise<string[]> {
  const select = `select tablename as name from pg_tables where schemaname = 'public'`;
  const tables = await sql<{ name: string }>(db, select);
  const found: string[] = [];
  for (const { name } of tables) {
    const query = `select 1 as one from ${name} t where t::text ilike '%' || $1 || '%'`;
    for (const _ of await sql(db, query, [text])) found.push(name);
  }
  return found;
}

/** A failed task with SECRET in each column that may have a text of its client or provider. */
async function makeFailedTask() {
  const { held, attempt } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'failed' }, 'gave up');
  const texts: [id: string, statements: string[]][] = [
    [
      held.account_id,
      [
        `update accounts set email = $2 || '@example.com' where id = $1`,
        'update api_keys set name = $2 where account_id = $1',
        `insert into sign_in_codes (email, code_hash, expires_at)
         select $2 || '@example.com', 'x', clock_now() from accounts where id = $1`,
        `insert into identities (issuer, subject, account_id) values ('oidc', $2, $1)`,
        `insert into passkeys (id, account_id, public_key, counter, name)
         values ($1, $1, 'x', 0, $2)`,
        `insert into sessions (id, token_hash, account_id, expires_at, method, browser)
         values ($1, sha256($1::text::bytea), $1, clock_now(), 'code', $2)`,
      ],
    ],
    [
      held.id,
      [
        `update tasks set request = request || jsonb_build_object('prompt', $2::text,
           'image_url', $2::text, 'reference_image_urls', jsonb_build_array($2::text)),
           provider_output = jsonb_build_object('url', $2::text), error_message = $2,
           error_details = jsonb_build_object('host', $2::text),
           inputs = jsonb_build_array(jsonb_build_object('sha256', $2::text)) where id = $1`,
        `insert into reports (id, reason, video, contact, evidence, task_id, state)
         values ('report_' || $1, 'other', $2, 'eve+' || $2 || '@example.org', $2, $1, 'kept')`,
        `update task_history set cause = jsonb_build_object('cause', $2::text) where task_id = $1`,
        `insert into moderation_verdicts (task_id, verdict, source, reason)
         values ($1, 'deny', 'service', $2)`,
      ],
    ],
    [
      attempt.id,
      [
        `update attempts set cause = jsonb_build_object('cause', $2::text) where id = $1`,
        `update evidence set finding = finding || jsonb_build_object('cause', $2::text)
         where attempt_id = $1`,
        `insert into local_jobs (id, spec, state)
         values ($1, jsonb_build_object('prompt', $2::text), 'failed')`,
      ],
    ],
  ];
  for (const [id, statements] of texts) {
    for (const text of statements) await sql(db, text, [id, SECRET]);
  }
  const output = `insert into stored_objects (id, owner_id, role, state, media_type)
    values ('obj_' || $1, $1, 'output', 'ready', 'video/mp4')`;
  await sql(db, output, [held.id]);
  return held;
}

/** Makes a disabled account look as if it had been disabled long ago. */
async function backdateDisabling(accountId: string): Promise<void> {
  const earlier = `update accounts set disabled_at = disabled_at - interval '1 hour' where id = $1`;
  await sql(db, earlier, [accountId]);
}

async function disable(accountId: string): Promise<void> {
  await disableAccount(db, accountId);
  await backdateDisabling(accountId);
}

test('an erased account leaves no text behind; its ledger stays', async () => {
  const task = await makeFailedTask();
  await disable(task.account_id);
  const books = await balances(db, task.account_id);
  assert.equal(new Set(await rowsWith(SECRET)).size, 13);
  const runs = await Promise.all([erase(task.account_id), erase(task.account_id)]);
  assert.deepEqual(runs.map(({ changed }) => changed).sort(), [false, true]);
  assert.deepEqual(await rowsWith(SECRET), []);
  assert.deepEqual(await balances(db, task.account_id), books);
  const select = 'select state from stored_objects where owner_id = $1';
  const [object] = await sql<{ state: string }>(db, select, [task.id]);
  assert.equal(object?.state, 'deleting');
  const actions = await listActions(db, { target: task.account_id, limit: 9 });
  assert.equal(actions.length, 1);
  assert.equal((await erase(task.account_id)).changed, false);
  await assert.rejects(enableAccount(db, task.account_id), /was erased/);
  await createAccount(db, `${SECRET}@example.com`);
});

test('what becomes known of a task after its erasure is kept without texts', async () => {
  const text = 'late-lighthouse';
  const { held, attempt } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'failed' }, 'gave up');
  await disable(held.account_id);
  await erase(held.account_id);
  await recordEvidence(db, attempt.id, 'sender', { kind: 'rejected', message: text });
  await db.transaction(async (tx) => {
    await recordEvidence(tx, attempt.id, 'callback', { job: 'job_late', verified: false });
    await recordOrphans(tx, attempt.id);
  });
  const done = { kind: 'done', output: { url: `https://provider.test/${text}.mp4` } };
  const provider = { read: async () => done } as unknown as Provider;
  await checkOrphans({ db, log: quiet, providers: new Map([[held.provider, provider]]) });
  assert.deepEqual(await rowsWith(text), []);
  const orphans = await sql(db, 'select state from orphan_jobs where task_id = $1', [held.id]);
  assert.deepEqual(orphans, [{ state: 'confirmed' }]);
});

test('a closed account is erased only after its held task, which is refunded, has ended', async () => {
  const close = async () => {
    const { held } = await makeHeldTask(fixture);
    await db.transaction((tx) => closeAccount(tx, held.account_id));
    return held;
  };
  const fail = ({ id }: Task) => reconcile(db, id, { kind: 'failed' }, 'gave up');
  const reopen = ({ account_id: id }: Task) => db.transaction((tx) => reopenAccount(tx, id));
  const [early, late] = [await close(), await close()];
  const available = async ({ account_id: id }: Task) => (await balances(db, id)).paid.available;
  const before = await available(early);
  await fail(early);
  assert.ok(await reopen(early));
  assert.equal(await available(early), before + early.credits);
  const past = `update account_closings set erase_at = clock_now()`;
  await sql(db, past, []);
  await backdateDisabling(late.account_id);
  const eraseNow = () => eraseClosedAccounts({ db, log: quiet });
  const isErased = async () => {
    const erased = 'select from accounts where id = $1 and erased_at is not null';
    return (await sql(db, erased, [late.account_id])).length === 1;
  };
  await eraseNow();
  assert.equal(await isErased(), false);
  assert.equal(await reopen(late), false);
  await fail(late);
  await eraseNow();
  assert.equal(await isErased(), true);
  assert.equal(await available(late), before + late.credits);
});

test('an erasure that has begun is not undone by a sign-in', async () => {
  const { held } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'failed' }, 'gave up');
  await db.transaction((tx) => closeAccount(tx, held.account_id));
  await backdateDisabling(held.account_id);
  const { erased } = await db.transaction(async (tx) => {
    await sql(tx, 'select from tasks where id = $1 for update', [held.id]);
    const erased = erase(held.account_id);
    await untilBlocked(db);
    const reopened = await db.transaction((other) => reopenAccount(other, held.account_id));
    assert.equal(reopened, false);
    return { erased };
  });
  assert.equal((await erased).changed, true);
});

test('a task whose prompt is the word that replaces prompts is erased, too', async () => {
  const { held } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'failed' }, 'gave up');
  const url = 'https://media.test/face-of-ada.png';
  const texts = `update tasks
    set request = request || jsonb_build_object('prompt', 'erased', 'image_url', $2::text)
    where id = $1`;
  await sql(db, texts, [held.id, url]);
  await disable(held.account_id);
  assert.equal((await erase(held.account_id)).erased_tasks, 1);
  assert.deepEqual(await rowsWith(url), []);
});

test('an erasure and an order that is inserted meanwhile don’t deadlock', async () => {
  const accountId = await createAccount(db, 'grace@example.com');
  await disable(accountId);
  await sql(db, 'insert into billing_accounts (account_id) values ($1)', [accountId]);
  let erased: Promise<{ changed: boolean }> | undefined;
  await db.transaction(async (tx) => {
    const lock = 'select from billing_accounts where account_id = $1 for update';
    await sql(tx, lock, [accountId]); // as an automatic purchase does
    erased = erase(accountId);
    await untilBlocked(db);
    await sql(tx, 'select from accounts where id = $1 for key share', [accountId]);
  });
  assert.equal((await erased)?.changed, true);
});

test('an account that is not disabled, or has live tasks, is not erased', async () => {
  const { held } = await makeHeldTask(fixture);
  await assert.rejects(erase(held.account_id), /is not disabled: disable it/);
  await disableAccount(db, held.account_id);
  await assert.rejects(erase(held.account_id), /less than a minute ago: try again in a minute/);
  await disable(held.account_id);
  await assert.rejects(erase(held.account_id), /has 1 live tasks: wait/);
  const select = `select request->>'prompt' as prompt from tasks where id = $1`;
  const [row] = await sql<{ prompt: string }>(db, select, [held.id]);
  assert.equal(row?.prompt, held.request.prompt);
});
