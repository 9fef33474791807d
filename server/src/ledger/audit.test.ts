import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { ledgerProblems } from '../../test/ledger/ledger-problems.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { sql } from '../../test/task-fixtures.ts';
import { createAccount } from '../accounts/accounts.ts';
import type { Database } from '../database/database.ts';
import { grant, settle } from './ledger.ts';

interface TestLedger {
  db: Database;
  accountId: string;
  /** Another account, with credits of its own. */
  otherId: string;
}

/** Two accounts. The first has a reserved, a captured and a refunded task. */
async function makeLedger(db: Database): Promise<TestLedger> {
  const [accountId, otherId] = [
    await createAccount(db, 'ada@example.com'),
    await createAccount(db, 'grace@example.com'),
  ];
  for (const id of [accountId, otherId]) {
    await grant(db, { accountId: id, credits: 1000, kind: 'paid', reference: id });
  }
  for (const taskId of ['reserved', 'captured', 'refunded']) {
    await db.transaction((tx) => reserve(tx, { accountId, taskId, credits: 100 }));
  }
  const settlements = { captured: 'capture', refunded: 'refund' } as const;
  for (const [taskId, outcome] of Object.entries(settlements)) {
    await db.transaction((tx) => settle(tx, outcome, [{ accountId, taskId, credits: 100 }]));
  }
  return { db, accountId, otherId };
}

const SMALL = { balances: 1, chunk: 2, transfers: 3, lots: 1 };

const UNLOCK = `
  alter table ledger_transfers disable trigger append_only;
  alter table ledger_balances drop constraint double_entry, drop constraint available_not_negative`;

/** Changes that only direct SQL can make, and the problems that the audit reports. */
const DAMAGES: Array<{ title: string; damage: string; found: RegExp[] }> = [
  {
    title: 'a balance was raised',
    damage: `update ledger_balances set available = available + 1 where account_id = $1
      and kind = 'paid'`,
    found: [/^\$1: paid available is 801, .* 800$/],
  },
  {
    title: 'promotional credits appeared on both sides',
    damage: `update ledger_balances set available = 5, granted = 5 where account_id = $1
      and kind = 'promotional'`,
    found: [/promotional available is 5, .* 0$/, /promotional granted is 5, .* 0$/],
  },
  {
    title: 'a grant was deleted',
    damage: `delete from ledger_transfers where account_id = $1 and reason = 'grant'`,
    found: [/paid available/, /paid granted/, /stores a wrong paid balance/],
  },
  {
    title: 'the amount of a reservation was changed',
    damage: `update ledger_transfers set credits = 90 where account_id = $1 and reference = 'reserve:reserved'`,
    found: [/paid available/, /paid reserved/, /stores a wrong paid balance/],
  },
  {
    title: 'the available balance stored with a transfer was changed',
    damage: `update ledger_transfers set available_after = 7 where account_id = $1 and reason = 'grant'`,
    found: [/^\$1: transfer \d+ stores a wrong paid balance$/],
  },
  {
    title: 'the reserved balance stored with a transfer was changed',
    damage: `update ledger_transfers set reserved_after = 7 where account_id = $1 and reason = 'grant'`,
    found: [/^\$1: transfer \d+ stores a wrong paid balance$/],
  },
  {
    title: 'a transfer was moved to another account',
    damage: `update ledger_transfers set account_id = $2 where account_id = $1
      and reference = 'settle:refunded'`,
    found: [/^\$1: paid reserved/, /^\$2: paid reserved/, /^refunded: settled with another/],
  },
  {
    title: 'a settlement has a smaller amount than its reservation',
    damage: `update ledger_transfers set credits = 40 where account_id = $1
      and reference = 'settle:captured'`,
    found: [/^captured: settled with another account, kind or amount than reserved$/, /paid spent/],
  },
  {
    title: 'a settlement has no reservation',
    damage: `delete from ledger_transfers where account_id = $1 and reference = 'reserve:captured'`,
    found: [/^settle:captured: settled without a reservation$/],
  },
  {
    title: 'a refund has the target of a capture',
    damage: `update ledger_transfers set target = 'spent' where account_id = $1
      and reference = 'settle:refunded'`,
    found: [/^settle:refunded: refund must not move paid credits from reserved to spent$/],
  },
  {
    title: 'a reservation was taken from promotional credits',
    damage: `update ledger_transfers set kind = 'promotional' where account_id = $1
      and reference = 'reserve:reserved'`,
    found: [
      /^reserve:reserved: reserve must not move promotional credits from available to reserved$/,
    ],
  },
];

test('the audit finds no problem if only the ledger changed the tables', async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.close());
  await makeLedger(database.db);
  assert.deepEqual(await ledgerProblems(database.db), []);
});

test('the audit finds nothing while credits move between its snapshots', async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.close());
  const { accountId, otherId, db } = await makeLedger(database.db);
  let moves = 0;
  const snapshot: Database['snapshot'] = async (work) => {
    moves += 1;
    for (const id of moves <= 20 ? [accountId, otherId] : []) {
      const move = { accountId: id, taskId: `moved_${moves}_${id}`, credits: 1 };
      await db.transaction((tx) => reserve(tx, move));
    }
    return db.snapshot(work);
  };
  assert.deepEqual(await ledgerProblems({ snapshot }, { ...SMALL, chunk: 5 }), []);
  assert.ok(moves > 20, `${moves} snapshots`);
});

test('the audit finds each kind of damage', async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.close());
  const { db } = database;
  const { accountId, otherId } = await makeLedger(db);
  for (const statement of UNLOCK.split(';')) await sql(db, statement);
  for (const { title, damage, found } of DAMAGES) {
    await t.test(title, async () => {
      const problems = await problemsAfter(db, damage, [accountId, otherId]);
      const masked = problems.map((text) => text.replace(accountId, '$1').replace(otherId, '$2'));
      for (const expected of found) {
        assert.ok(
          masked.some((problem) => expected.test(problem)),
          `${expected} is not among ${JSON.stringify(masked)}`,
        );
      }
    });
  }
  assert.deepEqual(await ledgerProblems(db), [], 'each change was rolled back');
});

/** The audit's problems within a transaction that makes the change and is rolled back. */
async function problemsAfter(db: Database, damage: string, ids: string[]): Promise<string[]> {
  let problems: string[] = [];
  const undo = new Error('undo');
  const trial = db.transaction(async (tx) => {
    await sql(tx, damage, damage.includes('$2') ? ids : ids.slice(0, 1));
    problems = await ledgerProblems({ snapshot: (work) => work(tx) });
    const pages = await ledgerProblems({ snapshot: (work) => work(tx) }, SMALL);
    assert.deepEqual(pages.sort(), problems.sort(), 'pages of any size give the same problems');
    throw undo;
  });
  await assert.rejects(trial, undo);
  return problems;
}
