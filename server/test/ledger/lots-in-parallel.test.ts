import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import type { Database } from '../../src/database/database.ts';
import { ApiError } from '../../src/kernel/errors.ts';
import { clawBack } from '../../src/ledger/debts.ts';
import { balances, grant, settle } from '../../src/ledger/ledger.ts';
import { bringUpToDate } from '../../src/ledger/lots.ts';
import { bringDueUpToDate } from '../../src/ledger/upkeep.ts';
import { createTestDatabase, quiet } from '../database.ts';
import type { Random } from '../random.ts';
import { sql } from '../task-fixtures.ts';
import { ledgerProblems } from './ledger-problems.ts';
import { reserve } from './reserve.ts';
import { openClients, runRounds } from './rounds.ts';

const CLIENTS = 8;
const CALLS = 25;

const database = await createTestDatabase();
const clients = openClients(database.url, CLIENTS);
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await database.close();
});

async function openAccount(): Promise<string> {
  return createAccount(database.db, `${crypto.randomUUID()}@example.com`);
}

/** Grants paid credits that expire. @returns the reference */
async function grantLot(accountId: string, credits: number, seconds: number): Promise<string> {
  const [clock] = await sql<{ at: Date }>(
    database.db,
    `select clock_now() + $1 * interval '1 second' as at`,
    [seconds],
  );
  const reference = crypto.randomUUID();
  await grant(database.db, { accountId, credits, kind: 'paid', reference, expiresAt: clock?.at });
  return reference;
}

interface Totals {
  reserved: number;
  captured: number;
  refunded: number;
}

/** Reserves and settles, until its calls are used up. */
async function runClient(client: Database, accountId: string, random: Random): Promise<Totals> {
  const totals = { reserved: 0, captured: 0, refunded: 0 };
  for (let call = 0; call < CALLS; call += 1) {
    const taskId = crypto.randomUUID();
    const credits = random.whole(1, 9);
    const reservation = { accountId, taskId, credits };
    const booked = await client
      .transaction(async (tx) => {
        await reserve(tx, reservation);
        return true;
      })
      .catch((error: unknown) => {
        assert.ok(isInsufficient(error), String(error));
        return false;
      });
    if (!booked) continue;
    totals.reserved += credits;
    const outcome = random.pick(['capture', 'refund']);
    totals[outcome === 'capture' ? 'captured' : 'refunded'] += credits;
    await client.transaction((tx) => settle(tx, outcome, [reservation]));
    if (random.chance(0.1)) await bringDueUpToDate({ db: client, log: quiet });
  }
  return totals;
}

function isInsufficient(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'insufficient_credits';
  return error instanceof Error && 'code' in error && error.code === '23514';
}

test('parallel reserves, settlements, expiries and a clawback agree with each other', async (t) => {
  await runRounds(t, async (random) => {
    const accountId = await openAccount();
    const payment = await grantLot(accountId, 300, 60);
    for (const seconds of [0.3, 0.6, 0.9, 1.2]) await grantLot(accountId, 100, seconds);
    const takeBack = async () => {
      await clawBack(
        database.db,
        { accountId, credits: 250, payment, reference: payment, note: 'chargeback' },
        async () => {},
      );
      return { reserved: 0, captured: 0, refunded: 0 };
    };
    const totals = await Promise.all([
      ...clients.map((client) => runClient(client, accountId, random.fork())),
      takeBack(),
      takeBack(),
    ]);
    const sum = (of: keyof Totals) => totals.reduce((all, one) => all + one[of], 0);
    await database.db.transaction((tx) => bringUpToDate(tx, { accountId, kind: 'paid' }));
    const [row] = await sql<{ spent: number; granted: number; debt: number; expired: number }>(
      database.db,
      `select spent, granted, debt, (select sum(credits) from ledger_transfers t
         where t.account_id = b.account_id and reason = 'expire')::int8 as expired
       from ledger_balances b where account_id = $1 and kind = 'paid'`,
      [accountId],
    );
    const { paid } = await balances(database.db, accountId);
    assert.equal(paid.reserved, 0);
    assert.equal(row?.spent, sum('captured'));
    assert.equal(row?.granted, 700 - 250 - (row?.expired ?? 0));
    t.diagnostic(JSON.stringify({ ...row, reserved: sum('reserved') }));
  });
  assert.deepEqual(await ledgerProblems(database.db), []);
});

test('of parallel reserves after an expiry, one takes the lot back and none spends it', async () => {
  const accountId = await openAccount();
  await grantLot(accountId, 100, 3600);
  await grant(database.db, { accountId, credits: 30, kind: 'paid', reference: accountId });
  await database.setClock(3601);
  const results = await Promise.allSettled(
    clients.map((client) =>
      client.transaction((tx) =>
        reserve(tx, { accountId, taskId: crypto.randomUUID(), credits: 10 }),
      ),
    ),
  );
  await database.setClock(0);
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 3);
  assert.deepEqual((await balances(database.db, accountId)).paid, { available: 0, reserved: 30 });
  const expiries = await sql(
    database.db,
    `select credits from ledger_transfers where account_id = $1 and reason = 'expire'`,
    [accountId],
  );
  assert.deepEqual(expiries, [{ credits: 100 }]);
  assert.deepEqual(await ledgerProblems(database.db), []);
});
