import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { openTestDatabase } from '../../test/database.ts';
import { ledgerProblems } from '../../test/ledger/ledger-problems.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { sql } from '../../test/task-fixtures.ts';
import type { Database } from '../database/database.ts';
import { ApiError, UsageError } from '../kernel/errors.ts';
import { adjust, balances, grant, settle } from './ledger.ts';
import { openTestBalance, refillTestCredits, testBalance } from './test-credits.ts';

after(async () => assert.deepEqual(await ledgerProblems(db), []));
const { db } = await openTestDatabase();

/** A new account, whose balances and references no other test changes. */
const openAccount = () => customerWith(0);

async function customerWith(credits: number): Promise<string> {
  return (await makeCustomer(db, credits)).accountId;
}

async function inTransaction(work: Parameters<Database['transaction']>[0]): Promise<boolean> {
  await db.transaction(work);
  return true;
}

test('parallel reserves never exceed the available credits, and the others fail with 402', async () => {
  const accountId = await customerWith(1000);
  const attempts = Array.from({ length: 40 }, () =>
    inTransaction((tx) => reserve(tx, { accountId, taskId: crypto.randomUUID(), credits: 100 })),
  );
  const outcomes = await Promise.allSettled(attempts);
  const refusals = outcomes.filter((outcome) => outcome.status === 'rejected');
  assert.equal(outcomes.length - refusals.length, 10);
  for (const { reason } of refusals) {
    assert.ok(reason instanceof ApiError);
    assert.equal(reason.code, 'insufficient_credits');
    assert.deepEqual(reason.details, { required_credits: 100 });
  }
  assert.deepEqual((await balances(db, accountId)).paid, { available: 0, reserved: 1000 });
});

test('when a capture and a refund run at the same time, exactly one is booked', async () => {
  for (let round = 0; round < 10; round += 1) {
    const accountId = await customerWith(300);
    // Keeps enough credits reserved, so that only the reference can refuse the second settlement.
    const other = { accountId, taskId: crypto.randomUUID(), credits: 150 };
    const reservation = { accountId, taskId: crypto.randomUUID(), credits: 150 };
    await inTransaction((tx) => reserve(tx, other));
    await inTransaction((tx) => reserve(tx, reservation));
    const outcomes = await Promise.allSettled(
      (['capture', 'refund', 'capture', 'refund'] as const).map((outcome) =>
        inTransaction((tx) => settle(tx, outcome, [reservation])),
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await balances(db, accountId)).paid.reserved, 150);
  }
});

test('tasks of one account that are settled together store the balance after each of them', async () => {
  const accountId = await customerWith(100);
  const tasks = [10, 20].map((credits) => ({ accountId, taskId: crypto.randomUUID(), credits }));
  for (const task of tasks) await inTransaction((tx) => reserve(tx, task));
  await inTransaction((tx) => settle(tx, 'refund', tasks));
  const select = `select available_after, reserved_after from ledger_transfers
    where reference = any($1) order by id`;
  const stored = await sql(db, select, [tasks.map(({ taskId }) => `settle:${taskId}`)]);
  assert.deepEqual(stored, [
    { available_after: 80, reserved_after: 20 },
    { available_after: 100, reserved_after: 0 },
  ]);
});

test('a reference is refused with another account, amount, kind, direction or note', async () => {
  const [accountId, other] = [await customerWith(100), await openAccount()];
  const reference = crypto.randomUUID();
  const given = { accountId, credits: 10, kind: 'paid', reference, note: 'goodwill' } as const;
  await adjust(db, given);
  const conflicts = [
    { ...given, accountId: other },
    { ...given, credits: 11 },
    { ...given, kind: 'promotional' as const },
    { ...given, credits: -10 },
    { ...given, note: 'something else' },
  ];
  for (const conflict of conflicts) await assert.rejects(adjust(db, conflict), UsageError);
  assert.equal(await adjust(db, given), false);
  assert.equal((await balances(db, accountId)).paid.available, 110);
});

test('an adjustment never makes a balance negative and never takes reserved credits', async () => {
  const accountId = await customerWith(100);
  await inTransaction((tx) => reserve(tx, { accountId, taskId: crypto.randomUUID(), credits: 60 }));
  const change = { accountId, credits: -41, kind: 'paid', reference: 'too much' } as const;
  await assert.rejects(adjust(db, { ...change, note: 'x' }), /fewer available credits/);
  assert.deepEqual((await balances(db, accountId)).paid, { available: 40, reserved: 60 });
});

test('credits are whole numbers: above zero for a grant, not zero for an adjustment', async () => {
  const accountId = await openAccount();
  for (const credits of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
    const given = { accountId, credits, kind: 'paid', reference: `r${credits}` } as const;
    await assert.rejects(async () => grant(db, given), UsageError, `grant ${credits}`);
    if (credits === -1) continue;
    await assert.rejects(adjust(db, { ...given, note: 'x' }), UsageError, `adjust ${credits}`);
  }
});

test('a transaction that fails after its reserve rolls the reserve back', async () => {
  const accountId = await customerWith(100);
  const reservation = { accountId, taskId: crypto.randomUUID(), credits: 100 };
  const failing = db.transaction(async (tx) => {
    await reserve(tx, reservation);
    throw new Error('the process failed');
  });
  await assert.rejects(failing, /the process failed/);
  assert.deepEqual((await balances(db, accountId)).paid, { available: 100, reserved: 0 });
  assert.equal(await inTransaction((tx) => reserve(tx, reservation)), true);
});

test('test credits are granted once, and a refill restores the available ones', async () => {
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

test('transfers can be neither changed nor deleted', async () => {
  await customerWith(100);
  for (const change of [
    'update ledger_transfers set credits = 1',
    'delete from ledger_transfers',
  ]) {
    await assert.rejects(sql(db, change), /append-only/);
  }
});

test('checks of the database refuse negative balances and one-sided changes', async () => {
  const accountId = await customerWith(100);
  const changes = {
    'available = -1, granted = -1': 'available_not_negative',
    'reserved = -1, available = 101': 'reserved_not_negative',
    'spent = -1, available = 101': 'spent_not_negative',
    'available = available + 1': 'double_entry',
  };
  for (const [change, constraint] of Object.entries(changes)) {
    const update = `update ledger_balances set ${change} where account_id = $1 and kind = 'paid'`;
    await assert.rejects(sql(db, update, [accountId]), { constraint });
  }
});

test('an account without balances can neither get nor reserve credits', async () => {
  const withoutBalances = { accountId: 'acct_without_balances', credits: 5 };
  const given = { ...withoutBalances, kind: 'paid', reference: crypto.randomUUID() } as const;
  await assert.rejects(grant(db, given), /no paid balance/);
  await assert.rejects(
    inTransaction((tx) => reserve(tx, { ...withoutBalances, taskId: crypto.randomUUID() })),
    /no paid balance/,
  );
});
