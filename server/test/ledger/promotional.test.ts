import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Database } from '../../src/database/database.ts';
import { ApiError } from '../../src/kernel/errors.ts';
import { clawBack } from '../../src/ledger/debts.ts';
import { grant, settle } from '../../src/ledger/ledger.ts';
import { bringDueUpToDate, bringUpToDate } from '../../src/ledger/lots.ts';
import { lockBalances } from '../../src/ledger/reserve.ts';
import type { CreditKind, TaskCredits } from '../../src/ledger/transfer.ts';
import { makeCustomer } from '../customer.ts';
import { openTestDatabase, quiet } from '../database.ts';
import type { Random } from '../random.ts';
import { sql } from '../task-fixtures.ts';
import { ledgerProblems } from './ledger-problems.ts';
import { reserve } from './reserve.ts';
import { openClients, runRounds } from './rounds.ts';
import { splitProblems } from './split-problems.ts';

const CLIENTS = 8;
const CALLS = 25;

after(() => Promise.all(clients.map((client) => client.close())));
const database = await openTestDatabase();
const { db } = database;
const clients = openClients(database.url, CLIENTS);

async function give(accountId: string, kind: CreditKind, credits: number, seconds = 0) {
  const reference = crypto.randomUUID();
  const inTime = `select clock_now() + $1 * interval '1 second' as at`;
  const [clock] = await sql<{ at: Date }>(db, inTime, [seconds]);
  const expiresAt = seconds > 0 ? clock?.at : undefined;
  await grant(db, { accountId, kind, credits, reference, expiresAt });
  return reference;
}

async function openAccount(credits: { paid: number; promotional: number }): Promise<string> {
  const { accountId } = await makeCustomer(db, credits.paid);
  await give(accountId, 'promotional', credits.promotional);
  return accountId;
}

function reserveOn(client: Database, reservation: Omit<TaskCredits, 'promotionalCredits'>) {
  return client.transaction((tx) => reserve(tx, { ...reservation, spends: 'promotional_first' }));
}

function isInsufficient(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'insufficient_credits';
}

const task = (accountId: string, credits: number) => {
  return { accountId, taskId: crypto.randomUUID(), credits };
};

test('reservations of one transaction share what is left of the promotional credits', async () => {
  const accountId = await openAccount({ paid: 50, promotional: 15 });
  const wanted = [10, 10].map((credits) => {
    return { ...task(accountId, credits), spends: 'promotional_first' } as const;
  });
  const parts = await db.transaction(async (tx) => {
    const balances = await lockBalances(tx, wanted, 'wait');
    const reserved = wanted.map((one) => balances.reserve(one));
    await balances.book();
    return reserved;
  });
  assert.deepEqual(parts, [{ promotionalCredits: 10 }, { promotionalCredits: 5 }]);
});

interface Shared {
  accounts: [string, ...string[]];
  web: TaskCredits[];
  captured: number;
  payments: Array<{ accountId: string; payment: string }>;
}

/** Reserves from both surfaces, settles one or several, grants and claws back, all at once. */
async function runClient(client: Database, shared: Shared, random: Random): Promise<void> {
  const open: TaskCredits[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const accountId = random.pick(shared.accounts);
    const wanted = task(accountId, random.whole(1, 30));
    const kind = random.pick(['paid', 'promotional'] as const);
    const type = random.pick(['web', 'web', 'web', 'api', 'end', 'end', 'all', 'give', 'take']);
    if (random.chance(0.05)) await bringDueUpToDate({ db: client, log: quiet });
    if (type === 'web' || type === 'api') {
      const reserved = await reserveAs(type, client, wanted);
      if (!reserved) continue;
      open.push(reserved);
      if (type === 'web') shared.web.push(reserved);
    } else if (type === 'give') {
      const seconds = random.pick([0, 0.2, 60]);
      const given = give(accountId, kind, random.whole(1, 60), seconds);
      const payment = await given.catch((error: Error) => {
        assert.match(error.message, /in the future/); // this process has waited so long
      });
      if (payment !== undefined) shared.payments.push({ accountId, payment });
    } else if (type === 'take') {
      const taken = shared.payments.splice(random.below(shared.payments.length), 1)[0];
      if (taken) await takeBack(client, taken);
    } else if (type === 'end') {
      const ended = open.pop();
      if (!ended) continue;
      const outcome = random.pick(['capture', 'refund'] as const);
      if (outcome === 'capture') shared.captured += ended.credits;
      await client.transaction((tx) => settle(tx, outcome, [ended]));
    } else {
      const perAccount = new Map(open.map((one) => [one.accountId, one]));
      const ended = [...perAccount.values()];
      for (const one of ended) open.splice(open.indexOf(one), 1);
      if (ended.length > 0) await client.transaction((tx) => settle(tx, 'capture', ended));
      for (const one of ended) shared.captured += one.credits;
    }
  }
  for (const one of open) {
    await client.transaction((tx) => settle(tx, 'refund', [one]));
  }
}

async function reserveAs(type: 'web' | 'api', client: Database, wanted: TaskCredits) {
  try {
    if (type === 'web') return { ...wanted, promotionalCredits: await reserveOn(client, wanted) };
    await client.transaction((tx) => reserve(tx, wanted));
    return wanted;
  } catch (error) {
    assert.ok(isInsufficient(error), String(error));
    return undefined;
  }
}

async function takeBack(client: Database, { accountId, payment }: Shared['payments'][number]) {
  const wanted = { accountId, credits: 1, payment, reference: payment, note: 'chargeback' };
  await clawBack(client, wanted, async () => {}).catch((error: Error) => {
    assert.match(error.message, /fewer credits/); // its lot has expired
  });
}

test('both kinds agree with each other under parallel work on several accounts', async (t) => {
  await runRounds(t, async (random) => {
    const open = () => openAccount({ paid: 300, promotional: 100 });
    const accounts: Shared['accounts'] = [await open(), await open(), await open()];
    const shared: Shared = { accounts, web: [], captured: 0, payments: [] };
    await Promise.all(clients.map((client) => runClient(client, shared, random.fork())));
    for (const accountId of accounts) {
      for (const kind of ['paid', 'promotional'] as const) {
        await db.transaction((tx) => bringUpToDate(tx, { accountId, kind }));
      }
    }
    const [sums] = await sql<{ spent: number; reserved: number }>(
      db,
      `select sum(spent)::int8 as spent, sum(reserved)::int8 as reserved from ledger_balances
       where account_id = any($1)`,
      [accounts],
    );
    assert.deepEqual(sums, { spent: shared.captured, reserved: 0 });
    const names = shared.web.map(({ taskId }) => taskId);
    assert.deepEqual(await splitProblems(db, names), []);
    const splits = shared.web.filter(
      ({ credits, promotionalCredits = 0 }) => promotionalCredits % credits !== 0,
    );
    t.diagnostic(`${names.length} reservations of the website, ${splits.length} of both kinds`);
  });
  assert.deepEqual(await ledgerProblems(db), []);
});
