import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { sql } from '../../test/task-fixtures.ts';
import { createAccount } from '../accounts/accounts.ts';
import { clawBack } from './debts.ts';
import { adjust, grant, settle } from './ledger.ts';
import { type Movement, openStatement } from './statement.ts';

// A payment of 100 credits is taken back when only 30 are left; a later grant repays the debt of
// 70.
const database = await openTestDatabase();
const { db } = database;
const accountId = await createAccount(db, 'ada@example.com');
const paid = { accountId, kind: 'paid' } as const;
await grant(db, { ...paid, credits: 100, reference: 'invoice-1' });
await db.transaction((tx) => reserve(tx, { accountId, taskId: 'task_1', credits: 60 }));
const task = { accountId, taskId: 'task_1', credits: 60 };
await db.transaction((tx) => settle(tx, 'capture', [task]));
await adjust(db, { ...paid, credits: -10, reference: 'x', note: 'typo, "again"' });
await database.setClock(1000);
const clawback = { accountId, credits: 100, payment: 'invoice-1', reference: 'cb' };
await clawBack(db, { ...clawback, note: 'chargeback' }, async () => {});
const expiresAt = new Date(Date.now() + 5_000_000);
await grant(db, { ...paid, credits: 90, reference: 'invoice-2', expiresAt });
await database.setClock(0);

async function read(period: { from?: Date; until?: Date } = {}) {
  const { from, until } = period;
  const statement = await openStatement(database.db, accountId, { kinds: ['paid'], from, until });
  const rows: Movement[] = [];
  for await (const row of statement.movements) rows.push(row);
  return { rows, totals: statement.totals()[0] };
}

test('a statement has every movement with its reason, task, note and balances after it', async () => {
  const { rows, totals } = await read();
  const table = rows.map((row) => [
    row.reason,
    row.credits,
    row.from,
    row.to,
    row.task_id,
    row.note,
    row.available_after,
    row.reserved_after,
    row.debt_after,
  ]);
  assert.deepEqual(table, [
    ['grant', 100, 'granted', 'available', null, null, 100, 0, 0],
    ['reserve', 60, 'available', 'reserved', 'task_1', null, 40, 60, 0],
    ['capture', 60, 'reserved', 'spent', 'task_1', null, 40, 0, 0],
    ['adjust', 10, 'available', 'granted', null, 'typo, "again"', 30, 0, 0],
    ['clawback', 30, 'available', 'granted', null, 'chargeback', 0, 0, 0],
    ['clawback', 70, 'debt', 'granted', null, 'chargeback', 0, 0, 70],
    ['grant', 90, 'granted', 'available', null, null, 90, 0, 70],
    ['repay', 70, 'available', 'debt', null, null, 20, 0, 0],
  ]);
  assert.deepEqual(totals, {
    kind: 'paid',
    movements: 8,
    opening: { available: 0, reserved: 0, debt: 0 },
    closing: { available: 20, reserved: 0, debt: 0 },
    credits: { grant: 190, reserve: 60, capture: 60, adjust_down: 10, clawback: 100, repay: 70 },
  });
});

test('a period has the movements of its time, and the balances at both ends', async () => {
  const middle = new Date(Date.now() + 500_000);
  const [first, second] = [await read({ until: middle }), await read({ from: middle })];
  assert.deepEqual([first.rows.length, second.rows.length], [4, 4]);
  assert.deepEqual(first.totals?.closing, { available: 30, reserved: 0, debt: 0 });
  assert.deepEqual(second.totals?.opening, first.totals?.closing);
  assert.deepEqual(second.totals?.closing, { available: 20, reserved: 0, debt: 0 });
});

test('a statement longer than a page has each movement once, in order', async () => {
  const { db } = database;
  const other = await createAccount(db, 'grace@example.com');
  await sql(
    db,
    `insert into ledger_transfers (account_id, kind, source, target, credits, reason, reference,
       available_after, reserved_after)
     select $1, 'promotional', 'granted', 'available', 1, 'grant', 'grant:many-' || n, n, 0
     from generate_series(1, 2500) n`,
    [other],
  );
  const period = { kinds: ['promotional'], from: undefined, until: undefined } as const;
  const statement = await openStatement(db, other, period);
  const after: number[] = [];
  for await (const row of statement.movements) after.push(row.available_after);
  assert.deepEqual(
    after,
    Array.from({ length: 2500 }, (_, i) => i + 1),
  );
  assert.equal(statement.totals()[0]?.credits.grant, 2500);
});
