import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { ledgerProblems } from '../../test/ledger/ledger-problems.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { createAccount } from '../accounts/accounts.ts';
import { violatedConstraint } from '../database/database.ts';
import { takeBackUpTo } from './debts.ts';
import { availableNow, balances, grantPayment, settle } from './ledger.ts';
import { paidBalances } from './payments.ts';
import { openTestBalance, refillTestCredits, testBalance } from './test-credits.ts';

const database = await createTestDatabase();
const { db } = database;
afterEach(() => database.setClock(0));
after(async () => {
  const problems = await ledgerProblems(db);
  await database.close();
  assert.deepEqual(problems, []);
});

const HOUR = 3600;

function openAccount(): Promise<string> {
  return createAccount(db, `${crypto.randomUUID()}@example.com`);
}

/** Gives the credits of a payment. @returns its reference */
async function pay(accountId: string, credits: number, seconds?: number): Promise<string> {
  const reference = `payment:${crypto.randomUUID()}`;
  const expiresAt = seconds === undefined ? null : new Date(Date.now() + seconds * 1000);
  await db.transaction((tx) => grantPayment(tx, { accountId, credits, reference, expiresAt }));
  return reference;
}

async function spend(accountId: string, credits: number): Promise<void> {
  const task = { accountId, taskId: crypto.randomUUID(), credits };
  await db.transaction((tx) => reserve(tx, task));
  await db.transaction((tx) => settle(tx, 'capture', [task]));
}

function takeBack(accountId: string, payments: string[], credits: number) {
  const referenceOf = (movement: number) => `${payments[0]}:back:${movement}`;
  return db.transaction((tx) =>
    takeBackUpTo(tx, { accountId, payments, credits, note: 'refunded', referenceOf }),
  );
}

async function paid(accountId: string) {
  const [{ available, debt } = { available: 0, debt: 0 }] = await paidBalances(db, [accountId]);
  return { available, debt };
}

test('a payment gives its credits once, and those that expire are taken back in time', async () => {
  const accountId = await openAccount();
  const reference = await pay(accountId, 100);
  await pay(accountId, 40, HOUR);
  const again = { accountId, credits: 100, reference, expiresAt: null };
  await assert.rejects(
    db.transaction((tx) => grantPayment(tx, again)),
    (error) => violatedConstraint(error) === 'ledger_transfers_reference_key',
  );
  assert.equal(await availableNow(db, accountId), 140);
  await database.setClock(HOUR + 1);
  assert.equal(await availableNow(db, accountId), 100);
});

test('refunded payments are taken back from the newest one; what is spent becomes a debt', async () => {
  const accountId = await openAccount();
  const payments = [await pay(accountId, 100), await pay(accountId, 50)];
  await spend(accountId, 120);
  assert.deepEqual(await takeBack(accountId, payments, 70), { credits: 70, movements: 2 });
  assert.deepEqual(await paid(accountId), { available: 0, debt: 40 });
  const rest = await takeBack(accountId, payments.toReversed(), 1000);
  assert.deepEqual(rest, { credits: 80, movements: 1 }, 'no more than the payments gave');
  assert.deepEqual(await paid(accountId), { available: 0, debt: 120 });
});

test('test credits are given once, and a refill sets what is available back', async () => {
  const accountId = await openAccount();
  await Promise.all([openTestBalance(db, accountId), openTestBalance(db, accountId)]);
  const full = await testBalance(db, accountId);
  const task = { accountId, taskId: crypto.randomUUID(), credits: 300, spends: 'test' } as const;
  await db.transaction((tx) => reserve(tx, task));
  const reserved = { available: full.available - 300, reserved: 300 };
  assert.deepEqual(await testBalance(db, accountId), reserved);
  assert.equal(await refillTestCredits(db, accountId), full.available);
  assert.deepEqual(await testBalance(db, accountId), { ...reserved, available: full.available });
  const settled = { ...task, isTest: true };
  await db.transaction((tx) => settle(tx, 'refund', [settled]));
  assert.equal((await testBalance(db, accountId)).available, full.available + 300);
  assert.equal(await refillTestCredits(db, accountId), full.available);
  assert.deepEqual((await balances(db, accountId)).paid, { available: 0, reserved: 0 });
});
