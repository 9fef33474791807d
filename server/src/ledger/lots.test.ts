import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { ledgerProblems } from '../../test/ledger/ledger-problems.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { sql } from '../../test/task-fixtures.ts';
import { UsageError } from '../kernel/errors.ts';
import { clawBack, takeBackUpTo } from './debts.ts';
import { balances, grant, grantPayment, settle } from './ledger.ts';
import { GRACE_DAYS } from './lot-book.ts';
import { bringDueUpToDate, bringUpToDate } from './lots.ts';
import { paidBalances } from './payments.ts';

after(async () => assert.deepEqual(await ledgerProblems(db), []));
const { db, setClock } = await openTestDatabase();
afterEach(() => setClock(0));

const HOUR = 3600;
const DAY = 24 * HOUR;

const openAccount = async () => (await makeCustomer(db, 0)).accountId;

/** Grants paid credits. @param seconds until they expire, by the machine's clock */
async function give(accountId: string, credits: number, seconds?: number): Promise<string> {
  const reference = crypto.randomUUID();
  const expiresAt = seconds === undefined ? undefined : new Date(Date.now() + seconds * 1000);
  await grant(db, { accountId, credits, kind: 'paid', reference, expiresAt });
  return reference;
}

/** @returns the task */
async function reserveNow(accountId: string, credits: number): Promise<string> {
  const taskId = crypto.randomUUID();
  await db.transaction((tx) => reserve(tx, { accountId, taskId, credits }));
  return taskId;
}

async function refund(accountId: string, taskId: string, credits: number): Promise<void> {
  await db.transaction((tx) => settle(tx, 'refund', [{ accountId, taskId, credits }]));
}

async function spend(accountId: string, credits: number): Promise<void> {
  const taskId = await reserveNow(accountId, credits);
  await db.transaction((tx) => settle(tx, 'capture', [{ accountId, taskId, credits }]));
}

async function bringPaidUpToDate(accountId: string): Promise<void> {
  await db.transaction((tx) => bringUpToDate(tx, { accountId, kind: 'paid' }));
}

function sweep(): Promise<number> {
  return bringDueUpToDate({ db, log: quiet });
}

async function paid(accountId: string): Promise<{ available: number; reserved: number }> {
  return (await balances(db, accountId)).paid;
}

/** What has expired. */
async function expiriesOf(accountId: string) {
  const select = `select reference, credits, source from ledger_transfers
    where account_id = $1 and reason = 'expire' order by id`;
  return sql<{ reference: string; credits: number; source: string }>(db, select, [accountId]);
}

async function takeBack(accountId: string, payment: string, credits: number) {
  const named = { reference: `${payment}:${credits}`, note: 'chargeback' };
  return clawBack(db, { accountId, credits, payment, ...named }, async () => {});
}

test('credits that have expired can’t be reserved, even if no sweep has run', async () => {
  const accountId = await openAccount();
  await give(accountId, 100, HOUR);
  await give(accountId, 30);
  await setClock(HOUR + 1);
  await assert.rejects(reserveNow(accountId, 31), { code: 'insufficient_credits' });
  await reserveNow(accountId, 30);
  assert.deepEqual(await paid(accountId), { available: 0, reserved: 30 });
  assert.equal((await expiriesOf(accountId))[0]?.credits, 100);
});

test('an expiry stays booked when the clock goes back', async () => {
  const accountId = await openAccount();
  await give(accountId, 100, HOUR);
  const taskId = await reserveNow(accountId, 40);
  await setClock(HOUR + 1);
  await sweep();
  await setClock(-DAY);
  await refund(accountId, taskId, 40);
  await sweep();
  assert.deepEqual(await paid(accountId), { available: 40, reserved: 0 });
  await setClock(GRACE_DAYS * DAY + 2 * HOUR);
  await sweep();
  assert.deepEqual(await paid(accountId), { available: 0, reserved: 0 });
});

test('grace is given once: a task that is refunded again and again does not renew it', async () => {
  const accountId = await openAccount();
  await give(accountId, 50, HOUR);
  const first = await reserveNow(accountId, 50);
  await setClock(DAY);
  await refund(accountId, first, 50);
  await setClock((1 + GRACE_DAYS) * DAY - HOUR);
  const second = await reserveNow(accountId, 50);
  await bringPaidUpToDate(accountId); // the next update is due in a day
  await setClock((1 + GRACE_DAYS) * DAY + HOUR);
  await refund(accountId, second, 50);
  await assert.rejects(reserveNow(accountId, 1), { code: 'insufficient_credits' });
});

test('a repeated grant must name the same expiry, which may have passed', async () => {
  const accountId = await openAccount();
  const expiresAt = new Date(Date.now() + HOUR * 1000);
  const given = { accountId, credits: 10, kind: 'paid', reference: accountId, expiresAt } as const;
  assert.equal(await grant(db, given), true);
  assert.equal(await grant(db, given), false);
  await assert.rejects(grant(db, { ...given, expiresAt: undefined }), /used with other values/);
  const later = new Date(expiresAt.getTime() + 1);
  await assert.rejects(grant(db, { ...given, expiresAt: later }), /used with other values/);
  await setClock(2 * HOUR);
  assert.equal(await grant(db, given), false);
});

test('a grant that expires in the past is refused', async () => {
  const accountId = await openAccount();
  await assert.rejects(give(accountId, 10, -1), UsageError);
  assert.deepEqual(await paid(accountId), { available: 0, reserved: 0 });
});

test('one balance that can’t be brought up to date does not keep the others waiting', async () => {
  const [broken, sound] = [await openAccount(), await openAccount()];
  const reference = await give(broken, 10, HOUR);
  await give(sound, 10, HOUR);
  const change = 'update ledger_lots set available = $2 where name = $1';
  await sql(db, change, [`grant:${reference}`, 11]);
  await setClock(HOUR + 1);
  await sweep();
  assert.deepEqual(await paid(broken), { available: 10, reserved: 0 });
  assert.deepEqual(await paid(sound), { available: 0, reserved: 0 });
  await sql(db, change, [`grant:${reference}`, 10]);
  assert.equal(await sweep(), 1);
});

test('a clawback takes no more than the payment gave, less what expired or was taken before', async () => {
  const accountId = await openAccount();
  const payment = await give(accountId, 100, HOUR);
  await spend(accountId, 40);
  await setClock(HOUR + 1);
  await assert.rejects(takeBack(accountId, payment, 41), /40 of its 100 credits are neither/);
  await takeBack(accountId, payment, 30);
  await assert.rejects(takeBack(accountId, payment, 11), /10 of its 100 credits/);
  await takeBack(accountId, payment, 10);
  const other = await openAccount();
  await assert.rejects(takeBack(other, payment, 1), /has no grant with the reference/);
});

test('a repeated clawback is booked once, also in parallel, and refused with other values', async () => {
  const accountId = await openAccount();
  const payment = await give(accountId, 100);
  const results = await Promise.all(
    Array.from({ length: 6 }, () => takeBack(accountId, payment, 60)),
  );
  assert.equal(results.filter(({ booked }) => booked).length, 1);
  const other = { accountId, credits: 61, payment, reference: `${payment}:60`, note: 'chargeback' };
  const taking = clawBack(db, other, async () => {});
  await assert.rejects(taking, /used with other values/);
  assert.deepEqual(await paid(accountId), { available: 40, reserved: 0 });
});

/** Gives the credits of a payment. @returns its reference */
async function pay(accountId: string, credits: number, seconds?: number): Promise<string> {
  const reference = `payment:${crypto.randomUUID()}`;
  const expiresAt = seconds === undefined ? null : new Date(Date.now() + seconds * 1000);
  await db.transaction((tx) => grantPayment(tx, { accountId, credits, reference, expiresAt }));
  return reference;
}

function takeBackNewest(accountId: string, payments: string[], credits: number) {
  const referenceOf = (movement: number) => `${payments[0]}:back:${movement}`;
  return db.transaction((tx) =>
    takeBackUpTo(tx, { accountId, payments, credits, note: 'refunded', referenceOf }),
  );
}

test('refunded payments are taken back from the newest one; what is spent becomes a debt', async () => {
  const accountId = await openAccount();
  const payments = [await pay(accountId, 100), await pay(accountId, 50)];
  await spend(accountId, 120);
  assert.deepEqual(await takeBackNewest(accountId, payments, 70), { credits: 70, movements: 2 });
  const owed = () => paidBalances(db, [accountId]);
  assert.deepEqual(await owed(), [{ account_id: accountId, available: 0, debt: 40 }]);
  const rest = await takeBackNewest(accountId, payments.toReversed(), 1000);
  assert.deepEqual(rest, { credits: 80, movements: 1 }, 'no more than the payments gave');
  assert.deepEqual(await owed(), [{ account_id: accountId, available: 0, debt: 120 }]);
});

test('transfers of a balance without due lots update no index of ledger_balances', async () => {
  const accountId = await openAccount();
  await give(accountId, 1000);
  await give(accountId, 1000, HOUR);
  const before = await balanceUpdates();
  for (let task = 0; task < 20; task += 1) {
    await spend(accountId, 1);
  }
  const after = await balanceUpdates();
  assert.equal(after.total - before.total, 40);
  const hot = after.hot - before.hot;
  assert.ok(hot > 36, `${hot} of 40 updates wrote no index`);
});

async function balanceUpdates(): Promise<{ total: number; hot: number }> {
  await sql(db, 'select pg_stat_force_next_flush()');
  const select = `select n_tup_upd as total, n_tup_hot_upd as hot from pg_stat_user_tables
    where relname = 'ledger_balances'`;
  const [row] = await sql<{ total: number; hot: number }>(db, select);
  return row ?? { total: 0, hot: 0 };
}
