import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestDatabase, quiet } from '../../test/database.ts';
import { ledgerProblems } from '../../test/ledger/ledger-problems.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { sql } from '../../test/task-fixtures.ts';
import { createAccount } from '../accounts/accounts.ts';
import { ApiError } from '../kernel/errors.ts';
import { grant, settle } from './ledger.ts';
import { bringUpToDate } from './lots.ts';
import { bringDueUpToDate } from './upkeep.ts';

/** Two lots, one of which has expired; a reserved, a captured and a refunded task. */
const database = await createTestDatabase();
const { db } = database;
const accountId = await createAccount(db, 'ada@example.com');
const shared = { accountId, credits: 100, kind: 'paid' } as const;
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);
await grant(db, { ...shared, reference: 'long', expiresAt: inSeconds(9000) });
await grant(db, { ...shared, reference: 'short', expiresAt: inSeconds(600) });
for (const taskId of ['reserved', 'captured', 'refunded']) {
  await db.transaction((tx) => reserve(tx, { accountId, taskId, credits: 40 }));
}
const settlements = { captured: 'capture', refunded: 'refund' } as const;
for (const [taskId, outcome] of Object.entries(settlements)) {
  await db.transaction((tx) => settle(tx, outcome, [{ accountId, taskId, credits: 40 }]));
}
await database.setClock(700);
await db.transaction((tx) => bringUpToDate(tx, { accountId, kind: 'paid' }));
after(() => database.close());

/** Changes that only direct SQL can make, and the problem that the audit reports. */
const DAMAGES: Array<{ title: string; damage: string; found: RegExp }> = [
  {
    title: 'a lot has more available credits',
    damage: `update ledger_lots set available = available + 5 where name = 'grant:long'`,
    found: /^grant:long: the lot has 105 available credits, but its movements add up to 100$/,
  },
  {
    title: 'a lot has fewer reserved credits',
    damage: `update ledger_lots set reserved = reserved - 1 where name = 'grant:short'`,
    found: /^grant:short: the lot has 39 reserved credits, .* 40$/,
  },
  {
    title: 'a lot and its movements are missing',
    damage: `with gone as (delete from ledger_lot_movements where lot = 'grant:long')
      delete from ledger_lots where name = 'grant:long'`,
    found: /^grant:long: these credits expire, but they are not in a lot$/,
  },
  {
    title: 'a lot expires later than its grant says',
    damage: `update ledger_lots set expires_at = expires_at + interval '1 day'
      where name = 'grant:long'`,
    found: /^grant:long: these credits expire, but they are not in a lot$/,
  },
  {
    title: 'a refund did not come back to its lot',
    damage: `delete from ledger_lot_movements m using ledger_transfers t
      where t.id = m.transfer_id and t.reference = 'settle:refunded'`,
    found: /^reserve:refunded: 40 credits were taken from lots, but 0 were refunded to lots$/,
  },
  {
    title: 'an expiry took less from its lot than from the balance',
    damage: `update ledger_lot_movements m set credits = m.credits + 1 from ledger_transfers t
      where t.id = m.transfer_id and t.reason = 'expire'`,
    found: /^expire:grant:short: a transfer of \d+ credits .* must not change lots by -\d+$/,
  },
  {
    title: 'a lot belongs to another account',
    damage: `with other as (insert into accounts (id, email) values ('acct_x', 'x@example.com')),
      opened as (insert into ledger_balances (account_id, kind) values ('acct_x', 'paid'))
      update ledger_lots set account_id = 'acct_x' where name = 'grant:long'`,
    found: /^grant:long: a transfer of 100 credits from granted to available must not/,
  },
  {
    title: 'the lots have more credits than the balance',
    damage: `update ledger_balances set available = 10, spent = spent + available - 10
      where kind = 'paid'`,
    found: /: lots have \d+ available paid credits, but the balance has 10$/,
  },
];

test('the audit finds no problem in lots that only the ledger changed', async () => {
  assert.deepEqual(await ledgerProblems(database.db), []);
});

for (const { title, damage, found } of DAMAGES) {
  test(`the audit finds the damage if ${title}`, async () => {
    const undo = new Error('undo');
    const trial = database.db.transaction(async (tx) => {
      await sql(tx, 'set constraints all deferred');
      await sql(tx, damage);
      const problems = await ledgerProblems({ snapshot: (work) => work(tx) });
      assert.ok(
        problems.some((problem) => found.test(problem)),
        JSON.stringify(problems),
      );
      throw undo;
    });
    await assert.rejects(trial, undo);
  });
}

test('a reserve fails on lots that do not agree, and does not tell the client that credits are missing', async () => {
  const { db } = database;
  const damaged = db.transaction(async (tx) => {
    await sql(
      tx,
      `update ledger_lots set available = 900, expires_at = clock_now() where name = 'grant:long'`,
    );
    await sql(tx, 'update ledger_balances set lots_due_at = clock_now()');
    await reserve(tx, { accountId, taskId: 'damaged', credits: 1 });
  });
  await assert.rejects(damaged, (error) => !(error instanceof ApiError));
});

test('lots that were changed are made again from the transfers', async () => {
  const { db } = database;
  await sql(db, `update ledger_lots set available = 3 where name = 'grant:long'`);
  assert.equal((await ledgerProblems(db)).length, 1);
  await sql(
    db,
    `delete from ledger_lot_movements where lot in (select name from ledger_lots where account_id = $1)`,
    [accountId],
  );
  await sql(db, 'delete from ledger_lots where account_id = $1', [accountId]);
  await sql(
    db,
    `update ledger_balances set lots_through = 0, lots_due_at = clock_now()
     where account_id = $1 and lots_through is not null`,
    [accountId],
  );
  assert.equal(await bringDueUpToDate({ db, log: quiet }), 1);
  assert.deepEqual(await ledgerProblems(db), []);
});
