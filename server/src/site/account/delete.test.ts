import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { quiet } from '../../../test/database.ts';
import { assertError } from '../../../test/envelope.ts';
import { sql, untilBlocked } from '../../../test/task-fixtures.ts';
import {
  openTestWebsite,
  type TestVisitor,
  type TestWebsite,
} from '../../../test/website/website.ts';
import { lockAccount } from '../../accounts/accounts.ts';
import { createKey } from '../../accounts/api-keys.ts';
import { insertOrder } from '../../billing/credit-order.ts';
import { setOffer } from '../../billing/offers.ts';
import { closePaymentPages } from '../../billing/payment-pages.ts';
import { newId } from '../../kernel/ids.ts';
import { balances } from '../../ledger/ledger.ts';
import { listActions } from '../../operator/actions.ts';
import { eraseClosedAccounts } from '../../operator/erasure/erase-closed.ts';
import { enterByEmail } from '../../sign-in/enter.ts';

let website: TestWebsite;

before(async () => {
  website = await openTestWebsite();
});
after(() => website.close());

const deleteAccount = (visitor: TestVisitor, email = visitor.email) =>
  visitor.write('/console/api/account/delete', { email });

async function eraseNow(): Promise<void> {
  await eraseClosedAccounts({ db: website.database.db, log: quiet });
}

async function emailOf({ accountId }: TestVisitor): Promise<string | undefined> {
  const rows = await sql<{ email: string }>(
    website.database.db,
    'select email from accounts where id = $1',
    [accountId],
  );
  return rows[0]?.email;
}

test('an account is closed at once and erased a minute later; its books stay', async () => {
  const { db, setClock } = website.database;
  const visitor = await website.signIn({ credits: 30 });
  const { secret } = await createKey(db, { accountId: visitor.accountId });
  const { status, headers } = await deleteAccount(visitor, ` ${visitor.email.toUpperCase()} `);
  assert.equal(status, 200);
  assert.match(String(headers['set-cookie']), /Max-Age=0/);
  assertError(await visitor.get('/console/api/me'), 'unauthorized');
  const api = await website.app.inject({
    ...{ url: '/api/v1/credits', headers: { authorization: `Bearer ${secret}` } },
  });
  assert.equal(api.statusCode, 401);
  await assert.rejects(
    db.transaction((tx) => enterByEmail(tx, visitor.email, 0)),
    /account is disabled/,
  );
  await eraseNow();
  assert.equal(await emailOf(visitor), visitor.email, 'a create may still be under way');
  await setClock(70);
  await Promise.all([eraseNow(), eraseNow()]);
  assert.equal(await emailOf(visitor), `erased:${visitor.accountId}`);
  assert.deepEqual((await balances(db, visitor.accountId)).paid, { available: 30, reserved: 0 });
  const actions = await listActions(db, { target: visitor.accountId, limit: 9 });
  assert.deepEqual(
    actions.map(({ command }) => command),
    ['accounts erase', 'account delete'],
  );
  const again = await db.transaction((tx) => enterByEmail(tx, visitor.email, 0));
  assert.notEqual(again, visitor.accountId);
  await setClock(0);
});

/** An order that is not paid, and not due. @returns its id */
async function openOrder(accountId: string): Promise<string> {
  const { db } = website.database;
  const id = newId('order');
  const terms = { id: 'small', name: 'Small', credits: 10, price: 100, currency: 'usd' };
  const pack = { ...terms, kind: 'pack', period: null, expires_days: null } as const;
  await setOffer(db, pack);
  await insertOrder(db, { id, accountId, kind: 'pack', offer: { ...pack, active: true } });
  await sql(db, 'update orders set due_at = null where id = $1', [id]);
  return id;
}

test('what the account has not paid is looked at, so that its payment page is closed', async () => {
  const { db } = website.database;
  const visitor = await website.signIn();
  const id = await openOrder(visitor.accountId);
  assert.equal((await deleteAccount(visitor)).status, 200);
  const due = await sql(db, 'select id from orders where due_at <= clock_now()');
  assert.deepEqual(due, [{ id }]);
});

test('an operator who disables the account meanwhile is not deadlocked with its owner', async () => {
  const { db } = website.database;
  const visitor = await website.signIn();
  await openOrder(visitor.accountId);
  const deleting = await db.transaction(async (tx) => {
    await lockAccount(tx, visitor.accountId);
    const deleted = deleteAccount(visitor);
    await untilBlocked(db);
    await closePaymentPages(tx, visitor.accountId);
    return { deleted };
  });
  assert.equal((await deleting.deleted).status, 200);
});

test('an account with a live task is erased when the task has ended', async () => {
  const { db, setClock } = website.database;
  const customer = await website.customer(10_000);
  const { body } = await customer.create({ prompt: 'A lighthouse at dawn', duration: 5 });
  const visitor = await website.signIn();
  await sql(db, 'update sessions set account_id = $1 where account_id = $2', [
    customer.accountId,
    visitor.accountId,
  ]);
  const email = (await visitor.get('/console/api/me')).body.email;
  assert.equal((await deleteAccount(visitor, email)).status, 200);
  await setClock(70);
  await eraseNow();
  const own = { ...visitor, accountId: customer.accountId };
  assert.equal(await emailOf(own), email);
  await sql(
    db,
    `update tasks set due_at = null, phase = 'failed', error_code = 'provider_failed' where id = $1`,
    [body.id],
  );
  await eraseNow();
  assert.equal(await emailOf(own), `erased:${customer.accountId}`);
  await setClock(0);
});

test('the address of the account confirms the deletion', async () => {
  const visitor = await website.signIn();
  const other = await website.signIn();
  for (const email of ['', 'yes', other.email]) {
    assertError(await deleteAccount(visitor, email), 'invalid_request', { field: 'email' });
  }
  assert.equal((await visitor.get('/console/api/me')).status, 200);
});

test('another site deletes no account', async () => {
  const visitor = await website.signIn();
  const forged = await visitor.send({
    ...{ method: 'POST', url: '/console/api/account/delete' },
    headers: { origin: 'https://evil.example', 'content-type': 'text/plain' },
    payload: JSON.stringify({ email: visitor.email }),
  });
  assertError(forged, 'cross_site');
  assert.equal((await visitor.get('/console/api/me')).status, 200);
});
