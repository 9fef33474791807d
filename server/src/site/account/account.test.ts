import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../../test/database.ts';
import { assertError } from '../../../test/envelope.ts';
import { sql, untilBlocked } from '../../../test/task-fixtures.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { taskMaker } from '../../../test/website/own-tasks.ts';
import { openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { disableAccount, lockAccount } from '../../accounts/accounts.ts';
import { createKey } from '../../accounts/api-keys.ts';
import { insertOrder } from '../../billing/credit-order.ts';
import { setOffer } from '../../billing/offers.ts';
import { wakePayments } from '../../billing/payment-pages.ts';
import { newId } from '../../kernel/ids.ts';
import { openScratchDirectory } from '../../kernel/scratch-directory.ts';
import { ZipTooLarge } from '../../kernel/zip.ts';
import { balances } from '../../ledger/ledger.ts';
import { listActions } from '../../operator/actions.ts';
import { eraseAccount, eraseClosedAccounts } from '../../operator/erase.ts';
import { disableByOperator, enableByOperator } from '../../operator/verbs/accounts.ts';
import { accountForSignIn } from '../../sign-in/enter.ts';
import { beginSession } from '../../sign-in/sessions.ts';
import { DiskFull } from '../../storage/free-space.ts';
import { markExpired } from '../../storage/objects.ts';
import { makeExports } from './export.ts';

const website = await openTestWebsite();
const { db, setClock } = website.database;

const deleteAccount = (visitor: TestVisitor, email = visitor.email) =>
  visitor.write('/console/api/account/delete', { email });

async function eraseNow(): Promise<void> {
  await eraseClosedAccounts({ db, log: quiet });
}

async function emailOf({ accountId }: TestVisitor): Promise<string | undefined> {
  const text = 'select email from accounts where id = $1';
  const [row] = await sql<{ email: string }>(db, text, [accountId]);
  return row?.email;
}

/** More than the grace period, in seconds. */
const AFTER_GRACE = 8 * 86_400;

/** Signs in by a code, as in a new browser. */
async function signInAgain({ email }: { email: string }) {
  await website.stranger.write('/auth/code', { email });
  const mail = website.outbox.findLast(({ to, text }) => to === email && /^\d{8}/.test(text));
  const code = mail?.text.slice(0, 8) ?? '';
  return website.stranger.write('/auth/code/verify', { email, code });
}

const actionsOf = async ({ accountId }: { accountId: string }) => {
  const actions = await listActions(db, { target: accountId, limit: 9 });
  return actions.map(({ command }) => command);
};

function balanceWith(secret: string) {
  const headers = { authorization: `Bearer ${secret}` };
  return website.app.inject({ url: '/api/v1/credits', headers });
}

test('an account is closed at once, and erased after a grace period; its books stay', async () => {
  const visitor = await website.signIn({ credits: 30 });
  const { secret } = await createKey(db, { accountId: visitor.accountId });
  const { status, headers, body } = await deleteAccount(
    visitor,
    ` ${visitor.email.toUpperCase()} `,
  );
  assert.equal(status, 200);
  const days = (Date.parse(body.erase_at) - Date.now()) / 86_400_000;
  assert.ok(days > 6.9 && days <= 7, `${days} days`);
  assert.match(String(headers['set-cookie']), /Max-Age=0/);
  assertError(await visitor.get('/console/api/me'), 'unauthorized');
  assert.equal((await balanceWith(secret)).statusCode, 401);
  await website.sendMails();
  const mail = website.outbox.findLast(({ to }) => to === visitor.email);
  const subject = mail?.subject ?? '';
  assert.match(subject, /^Your account will be deleted on \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  assert.match(mail?.text ?? '', /sign in before then: http:\/\/localhost:8080\/sign-in/);
  assert.match(mail?.text ?? '', /30 paid and 0 promotional credits/);
  await setClock(6.9 * 86_400);
  await eraseNow();
  assert.equal(await emailOf(visitor), visitor.email);
  await setClock(AFTER_GRACE);
  await Promise.all([eraseNow(), eraseNow()]);
  assert.equal(await emailOf(visitor), `erased:${visitor.accountId}`);
  assert.deepEqual((await balances(db, visitor.accountId)).paid, { available: 30, reserved: 0 });
  assert.deepEqual(await actionsOf(visitor), ['accounts erase', 'account delete']);
  const again = await db.transaction((tx) => accountForSignIn(tx, visitor.email, 0));
  assert.equal(again.isNew, true);
  await setClock(0);
});

test('a sign-in within the grace period reopens the account as it was', async () => {
  const visitor = await website.signIn({ credits: 30 });
  const { secret } = await createKey(db, { accountId: visitor.accountId });
  await deleteAccount(visitor);
  await website.sendMails();
  await setClock(6.9 * 86_400);
  const entered = await signInAgain(visitor);
  assert.deepEqual([entered.status, entered.body], [200, { reopened: true }]);
  await website.sendMails();
  assert.equal(
    website.outbox.findLast(({ to }) => to === visitor.email)?.subject,
    'Your account is open again and will not be deleted',
  );
  assert.equal((await balanceWith(secret)).statusCode, 200);
  assertError(await visitor.get('/console/api/me'), 'unauthorized'); // sessions ended for good
  assert.deepEqual(await actionsOf(visitor), ['account reopen', 'account delete']);
  await setClock(2 * AFTER_GRACE);
  await eraseNow();
  assert.equal(await emailOf(visitor), visitor.email);
  assert.deepEqual((await signInAgain(visitor)).body, { reopened: false });
  await setClock(0);
});

test('a sign-in that races with the erasure finds the whole account or an erased one', async () => {
  const visitors = await Promise.all(Array.from({ length: 6 }, () => website.signIn()));
  for (const visitor of visitors) await deleteAccount(visitor);
  await setClock(AFTER_GRACE);
  const codes = visitors.map(async (visitor, i) => {
    if (i % 2 === 1) await eraseNow();
    return signInAgain(visitor);
  });
  const [entered] = await Promise.all([Promise.all(codes), eraseNow(), eraseNow()]);
  await eraseNow();
  for (const [i, { status, body }] of entered.entries()) {
    const [account] = await sql<{ email: string; is_open: boolean; deletions: number }>(
      db,
      `select email, disabled_at is null as is_open,
         (select count(*)::int from account_deletions d where d.account_id = a.id) as deletions
       from accounts a where id = $1`,
      [visitors[i]?.accountId],
    );
    const isReopened = status === 200 && body.reopened;
    const { email = '' } = isReopened ? (visitors[i] ?? {}) : {};
    const expected = isReopened
      ? { email, is_open: true, deletions: 0 }
      : { email: `erased:${visitors[i]?.accountId}`, is_open: false, deletions: 1 };
    assert.deepEqual(account, expected, `${status} ${JSON.stringify(body)}`);
  }
  await setClock(0);
});

test('an operator’s enable, disable or erase overrides the closing by the owner', async () => {
  const action = { command: 'a test', actor: 'ada', reason: 'ticket 1' };
  const visitors = await Promise.all([1, 2, 3].map(() => website.signIn()));
  for (const visitor of visitors) await deleteAccount(visitor);
  const [enabled, disabled, erased] = visitors as [TestVisitor, TestVisitor, TestVisitor];
  await setClock(70);
  await enableByOperator(db, action, enabled.accountId);
  assert.equal((await disableByOperator(db, action, disabled.accountId)).changed, true);
  assertError(await signInAgain(disabled), 'account_disabled');
  await eraseAccount(db, action, erased.accountId); // within the grace period
  assert.equal(await emailOf(erased), `erased:${erased.accountId}`);
  await setClock(AFTER_GRACE);
  await eraseNow();
  assert.equal(await emailOf(enabled), enabled.email);
  assert.equal(await emailOf(disabled), disabled.email);
  await disableByOperator(db, action, enabled.accountId);
  await eraseNow();
  assert.equal(await emailOf(enabled), enabled.email);
  assertError(await signInAgain(enabled), 'account_disabled');
  await setClock(0);
});

test('an account that an operator disables at this moment is not closed by its owner', async () => {
  const visitor = await website.signIn();
  const deleting = await db.transaction(async (tx) => {
    await disableAccount(tx, visitor.accountId);
    const deleted = deleteAccount(visitor);
    await untilBlocked(db);
    return { deleted };
  });
  assertError(await deleting.deleted, 'account_disabled');
  assertError(await signInAgain(visitor), 'account_disabled');
});

/** @param failure why the archive can't be written */
const exportDeps = (folder: string, failure?: Error) => ({
  ...website.deps,
  scratch: openScratchDirectory(folder),
  space: {
    async *whileFree(_: string, bytes: AsyncIterable<Uint8Array>) {
      yield* bytes;
      if (failure) throw failure;
    },
  },
});

test('an export is one file, made once, for its owner alone, and for a day', async () => {
  const visitor = await website.signIn({ credits: 1000 });
  const make = taskMaker(website.deps);
  const id = await make(visitor.accountId, { prompt: '=A boat', ended: 'completed' });
  await make(visitor.accountId, { surface: 'web', ended: 'content_refused' });
  const url = '/console/api/export';
  const state = async () => (await visitor.get(url)).body.state;
  await using folder = await temporaryFolder();
  const deps = exportDeps(folder.path);
  const file = () =>
    website.app.inject({ url: `${url}/file`, headers: { cookie: visitor.cookie } });
  assert.equal(await state(), 'none');
  await Promise.all([visitor.write(url), visitor.write(url)]);
  assert.equal(await state(), 'being_made');
  assertError(await visitor.get(`${url}/file`), 'not_found');
  await Promise.all([makeExports(deps), makeExports(deps)]);
  assert.equal(await state(), 'ready');
  const { rawPayload, headers } = await file();
  assert.match(String(headers['content-disposition']), /account-[\d-]+\.zip/);
  const text = rawPayload.toString();
  for (const name of ['requests.jsonl', 'videos.csv', 'statement.csv', 'test-statement.csv']) {
    assert.ok(text.includes(name), name);
  }
  assert.ok(text.includes(`{"id":"${id}","surface":"api"`));
  assert.ok(text.includes(`,'=A boat,`), 'no formula');
  assert.ok(text.includes('content_refused'));
  await website.sendMails();
  const mails = website.outbox.filter(({ to }) => to === visitor.email);
  const subjects = mails.map(({ subject }) => subject);
  assert.deepEqual(subjects, ['Your data is ready']);
  const other = await website.signIn();
  assertError(await other.get(`${url}/file`), 'not_found');
  await visitor.write(url);
  assert.equal(await state(), 'being_made', 'the export before is deleted');
  const stateOf = `select state from stored_objects where owner_id = $1`;
  const [first] = await sql(db, stateOf, [visitor.accountId]);
  assert.deepEqual(first, { state: 'deleting' });
  await makeExports(deps);
  const endNow = `update stored_objects set delete_after = clock_now() where owner_id = $1`;
  await sql(db, endNow, [visitor.accountId]);
  await markExpired(db);
  assert.equal(await state(), 'ended');
  await visitor.write(url);
  await assert.rejects(makeExports(exportDeps(folder.path, new DiskFull('upload', 0))), DiskFull);
  assert.equal(await state(), 'being_made', 'it is tried again');
  await sql(db, 'update account_exports set due_at = clock_now()');
  await makeExports(exportDeps(folder.path, new ZipTooLarge()));
  assert.equal(await state(), 'ended');
  await website.sendMails();
  assert.equal(website.outbox.at(-1)?.subject, 'Your data does not fit one file');
  await visitor.write(url);
  await makeExports(deps);
  assert.equal((await file()).statusCode, 200);
  await visitor.write(url);
  assert.equal((await deleteAccount(visitor)).status, 200);
  await makeExports(deps);
  const kept = `select from stored_objects where owner_id = $1 and state = 'ready'`;
  assert.deepEqual(await sql(db, kept, [visitor.accountId]), []);
});

/** An order that is not paid, and not due. @returns its id */
async function openOrder(accountId: string): Promise<string> {
  const id = newId('order');
  const terms = { id: 'small', name: 'Small', credits: 10, price: 100, currency: 'usd' };
  const pack = { ...terms, kind: 'pack', period: null, expires_days: null } as const;
  await setOffer(db, pack);
  const scope = { mode: 'test', account: null } as const;
  await insertOrder(db, { id, accountId, kind: 'pack', offer: { ...pack, active: true }, scope });
  await sql(db, 'update orders set due_at = null where id = $1', [id]);
  return id;
}

test('a deletion makes unpaid orders due, so that a worker closes their payment pages', async () => {
  const visitor = await website.signIn();
  const id = await openOrder(visitor.accountId);
  assert.equal((await deleteAccount(visitor)).status, 200);
  const due = await sql(db, 'select id from orders where due_at <= clock_now()');
  assert.deepEqual(due, [{ id }]);
});

test('a deletion by the owner and a disable by an operator don’t deadlock', async () => {
  const visitor = await website.signIn();
  await openOrder(visitor.accountId);
  const deleting = await db.transaction(async (tx) => {
    await lockAccount(tx, visitor.accountId);
    const deleted = deleteAccount(visitor);
    await untilBlocked(db);
    await wakePayments(tx, visitor.accountId);
    return { deleted };
  });
  assert.equal((await deleting.deleted).status, 200);
});

test('the address of the account confirms the deletion', async () => {
  const visitor = await website.signIn();
  const other = await website.signIn();
  for (const email of ['', 'yes', other.email]) {
    assertError(await deleteAccount(visitor, email), 'invalid_request', { field: 'email' });
  }
  assert.equal((await visitor.get('/console/api/me')).status, 200);
});

const SESSIONS = '/console/api/sessions';

test('an account sees where it is signed in, and no token', async () => {
  const visitor = await website.signIn();
  const from = { method: 'passkey', network: '203.0.113.0/24', browser: 'Firefox on Linux' };
  await beginSession(db, visitor.accountId, from);
  const { body } = await visitor.get(SESSIONS);
  assert.equal(body.items.length, 2);
  const other = body.items.find((item: { is_current: boolean }) => !item.is_current);
  assert.ok(body.items.some((item: { is_current: boolean }) => item.is_current));
  assert.partialDeepStrictEqual(other, { ...from, is_current: false });
  assert.ok(Date.parse(other.created_at) <= Date.parse(other.seen_at));
  const members = 'browser created_at expires_at id is_current method network seen_at';
  assert.equal(Object.keys(other).sort().join(' '), members);
});

test('a session that is ended elsewhere is refused at its next request', async () => {
  const visitor = await website.signIn();
  const from = { method: 'code', network: null, browser: null };
  const token = await beginSession(db, visitor.accountId, from);
  const { body } = await visitor.get(SESSIONS);
  const other = body.items.find((item: { is_current: boolean }) => !item.is_current);
  assert.equal((await visitor.delete(`${SESSIONS}/${other.id}`)).status, 200);
  const headers = { cookie: `framewright=${token}` };
  assertError(await website.stranger.send({ url: SESSIONS, headers }), 'unauthorized');
  assertError(await visitor.delete(`${SESSIONS}/${other.id}`), 'not_found');
  assert.equal((await visitor.get(SESSIONS)).body.items.length, 1);
});

test('a session is marked as used at most once an hour', async () => {
  const visitor = await website.signIn();
  const seenAt = async () => (await visitor.get(SESSIONS)).body.items[0].seen_at;
  const first = await seenAt();
  await setClock(3000);
  assert.equal(await seenAt(), first);
  await setClock(3700);
  await seenAt();
  assert.notEqual(await seenAt(), first);
  await setClock(0);
});

test('of more than fifty sessions the oldest end', async () => {
  const visitor = await website.signIn();
  const from = { method: 'code', network: null, browser: null };
  for (let i = 0; i < 50; i += 1) {
    await beginSession(db, visitor.accountId, from);
  }
  assertError(await visitor.get(SESSIONS), 'unauthorized');
});

test('a sign-out ends the session and deletes the cookie', async () => {
  const visitor = await website.signIn();
  const { status, headers } = await visitor.write('/auth/sign-out');
  assert.equal(status, 200);
  assert.match(String(headers['set-cookie']), /^framewright=; Path=\/; HttpOnly; .*Max-Age=0$/);
  assertError(await visitor.get('/console/api/me'), 'unauthorized');
});
