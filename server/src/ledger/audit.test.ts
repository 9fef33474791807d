import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { ledgerProblems } from '../../test/ledger/ledger-problems.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { sql } from '../../test/task-fixtures.ts';
import { createAccount } from '../accounts/accounts.ts';
import type { Database } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { grant, settle } from './ledger.ts';
import { bringUpToDate } from './lots.ts';

const database = await openTestDatabase();
const { db } = database;

const ada = await createAccount(db, 'ada@example.com');
const grace = await createAccount(db, 'grace@example.com');
const eve = await createAccount(db, 'eve@example.com');
for (const accountId of [ada, grace]) {
  await grant(db, { accountId, credits: 1000, kind: 'paid', reference: accountId });
}
await makeTasks(ada, '');
/** Two lots, one of which has expired. */
const shared = { accountId: eve, credits: 100, kind: 'paid' } as const;
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);
await grant(db, { ...shared, reference: 'long', expiresAt: inSeconds(9000) });
await grant(db, { ...shared, reference: 'short', expiresAt: inSeconds(600) });
await makeTasks(eve, 'lot-');
await database.setClock(700);
await db.transaction((tx) => bringUpToDate(tx, { accountId: eve, kind: 'paid' }));

/** A reserved, a captured and a refunded task of 40 credits. */
async function makeTasks(accountId: string, prefix: string) {
  const credits = 40;
  for (const name of ['reserved', 'captured', 'refunded']) {
    await db.transaction((tx) => reserve(tx, { accountId, taskId: prefix + name, credits }));
  }
  for (const [name, outcome] of [
    ['captured', 'capture'],
    ['refunded', 'refund'],
  ] as const) {
    const task = { accountId, taskId: prefix + name, credits };
    await db.transaction((tx) => settle(tx, outcome, [task]));
  }
}

const SMALL = { balances: 1, chunk: 2, transfers: 3, lots: 1 };

const UNLOCK = `
  alter table ledger_transfers disable trigger append_only;
  alter table ledger_balances drop constraint double_entry, drop constraint available_not_negative`;

/** Changes that only direct SQL can make, and the problems that the audit reports. */
const DAMAGES: Record<string, [damage: string, ...found: RegExp[]]> = {
  'a balance was raised': [
    `update ledger_balances set available = available + 1 where account_id = 'ADA'
       and kind = 'paid'`,
    /^ADA: paid available is 921, .* 920$/,
  ],
  'promotional credits appeared on both sides': [
    `update ledger_balances set available = 5, granted = 5 where account_id = 'ADA'
       and kind = 'promotional'`,
    /promotional available is 5, .* 0$/,
    /promotional granted is 5, .* 0$/,
  ],
  'a grant was deleted': [
    `delete from ledger_transfers where account_id = 'ADA' and reason = 'grant'`,
    /paid available/,
    /paid granted/,
    /stores a wrong paid balance/,
  ],
  'the amount of a reservation was changed': [
    `update ledger_transfers set credits = 30 where reference = 'reserve:reserved'`,
    /paid available/,
    /paid reserved/,
    /stores a wrong paid balance/,
  ],
  'the available balance stored with a transfer was changed': [
    `update ledger_transfers set available_after = 7 where account_id = 'ADA' and reason = 'grant'`,
    /^ADA: transfer \d+ stores a wrong paid balance$/,
  ],
  'the reserved balance stored with a transfer was changed': [
    `update ledger_transfers set reserved_after = 7 where account_id = 'ADA' and reason = 'grant'`,
    /^ADA: transfer \d+ stores a wrong paid balance$/,
  ],
  'a transfer was moved to another account': [
    `update ledger_transfers set account_id = 'GRACE' where reference = 'settle:refunded'`,
    /^ADA: paid reserved/,
    /^GRACE: paid reserved/,
    /^refunded: settled with another/,
  ],
  'a settlement has a smaller amount than its reservation': [
    `update ledger_transfers set credits = 30 where reference = 'settle:captured'`,
    /^captured: settled with another account, kind or amount than reserved$/,
    /paid spent/,
  ],
  'a settlement has no reservation': [
    `delete from ledger_transfers where reference = 'reserve:captured'`,
    /^settle:captured: settled without a reservation$/,
  ],
  'a refund has the target of a capture': [
    `update ledger_transfers set target = 'spent' where reference = 'settle:refunded'`,
    /^settle:refunded: refund must not move paid credits from reserved to spent$/,
  ],
  'a reservation was taken from promotional credits': [
    `update ledger_transfers set kind = 'promotional' where reference = 'reserve:reserved'`,
    /^reserve:reserved: reserve must not move promotional credits from available to reserved$/,
  ],
  'a lot has more available credits': [
    `update ledger_lots set available = available + 5 where name = 'grant:long'`,
    /^grant:long: the lot has 105 available credits, but its movements add up to 100$/,
  ],
  'a lot has fewer reserved credits': [
    `update ledger_lots set reserved = reserved - 1 where name = 'grant:short'`,
    /^grant:short: the lot has 39 reserved credits, .* 40$/,
  ],
  'a lot and its movements are missing': [
    `with gone as (delete from ledger_lot_movements where lot = 'grant:long')
       delete from ledger_lots where name = 'grant:long'`,
    /^grant:long: these credits expire, but they are not in a lot$/,
  ],
  'a lot expires later than its grant says': [
    `update ledger_lots set expires_at = expires_at + interval '1 day' where name = 'grant:long'`,
    /^grant:long: these credits expire, but they are not in a lot$/,
  ],
  'a refund did not come back to its lot': [
    `delete from ledger_lot_movements m using ledger_transfers t
       where t.id = m.transfer_id and t.reference = 'settle:lot-refunded'`,
    /^reserve:lot-refunded: 40 credits were taken from lots, but 0 were refunded to lots$/,
  ],
  'an expiry took less from its lot than from the balance': [
    `update ledger_lot_movements m set credits = m.credits + 1 from ledger_transfers t
       where t.id = m.transfer_id and t.reason = 'expire'`,
    /^expire:grant:short: a transfer of \d+ credits .* must not change lots by -\d+$/,
  ],
  'a lot belongs to another account': [
    `update ledger_lots set account_id = 'GRACE' where name = 'grant:long'`,
    /^grant:long: a transfer of 100 credits from granted to available must not/,
  ],
  'the lots have more credits than the balance': [
    `update ledger_balances set available = 10, spent = spent + available - 10
       where account_id = 'EVE' and kind = 'paid'`,
    /: lots have \d+ available paid credits, but the balance has 10$/,
  ],
};

const masked = (text: string) =>
  text.replace(ada, 'ADA').replace(grace, 'GRACE').replace(eve, 'EVE');
const unmasked = (text: string) =>
  text.replace('ADA', ada).replace('GRACE', grace).replace('EVE', eve);

test('the audit finds no problem if only the ledger changed the tables', async () => {
  assert.deepEqual(await ledgerProblems(db), []);
});

test('a reserve on contradictory lots fails with an internal error', async () => {
  const damaged = db.transaction(async (tx) => {
    await sql(
      tx,
      `update ledger_lots set available = 900, expires_at = clock_now() where name = 'grant:long'`,
    );
    const update = 'update ledger_balances set lots_due_at = clock_now() where account_id = $1';
    await sql(tx, update, [eve]);
    await reserve(tx, { accountId: eve, taskId: 'damaged', credits: 1 });
  });
  await assert.rejects(damaged, (error) => !(error instanceof ApiError));
});

test('the audit finds each kind of damage', async (t) => {
  for (const statement of UNLOCK.split(';')) await sql(db, statement);
  for (const [title, [damage, ...found]] of Object.entries(DAMAGES)) {
    await t.test(title, async () => {
      const problems = (await problemsAfter(unmasked(damage))).map(masked);
      for (const expected of found) {
        assert.ok(
          problems.some((problem) => expected.test(problem)),
          `${expected} is not among ${JSON.stringify(problems)}`,
        );
      }
    });
  }
  assert.deepEqual(await ledgerProblems(db), [], 'each change was rolled back');
});

/** The audit's problems within a transaction that makes the change and is rolled back. */
async function problemsAfter(damage: string): Promise<string[]> {
  let problems: string[] = [];
  const undo = new Error('undo');
  const trial = db.transaction(async (tx) => {
    await sql(tx, 'set constraints all deferred');
    await sql(tx, damage);
    problems = await ledgerProblems({ snapshot: (work) => work(tx) });
    const pages = await ledgerProblems({ snapshot: (work) => work(tx) }, SMALL);
    assert.deepEqual(pages.sort(), problems.sort(), 'pages of any size give the same problems');
    throw undo;
  });
  await assert.rejects(trial, undo);
  return problems;
}

test('the audit finds nothing while credits move between its snapshots', async () => {
  let moves = 0;
  const snapshot: Database['snapshot'] = async (work) => {
    moves += 1;
    for (const accountId of moves <= 20 ? [ada, grace] : []) {
      const move = { accountId, taskId: `moved_${moves}_${accountId}`, credits: 1 };
      await db.transaction((tx) => reserve(tx, move));
    }
    return db.snapshot(work);
  };
  assert.deepEqual(await ledgerProblems({ snapshot }, { ...SMALL, chunk: 5 }), []);
  assert.ok(moves > 20, `${moves} snapshots`);
});
