import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { createAccount } from '../accounts/accounts.ts';
import { countRequest } from '../accounts/rate-window.ts';
import { balances } from '../ledger/ledger.ts';
import { NOBODY, storeChallenge } from './check-passkey.ts';
import { deleteExpired } from './deletion.ts';
import { mailboxOf } from './email-address.ts';
import { accountForSignIn } from './enter.ts';
import { storeStart } from './issuers/issuer.ts';

const database = await openTestDatabase();

const enterOnce = async (email: string) => {
  const entered = await database.db.transaction((tx) => accountForSignIn(tx, email, 250));
  return entered.accountId;
};

async function promotionalOf(accountId: string): Promise<number> {
  return (await balances(database.db, accountId)).promotional.available;
}

test('first sign-ins of one person at once make one account with one grant', async () => {
  const accounts = await Promise.all(Array.from({ length: 8 }, () => enterOnce('eve@example.org')));
  assert.equal(new Set(accounts).size, 1);
  const { promotional, paid } = await balances(database.db, accounts[0] ?? '');
  assert.equal(promotional.available, 250);
  assert.equal(paid.available, 0);
});

test('an address gets its credits once, also if the account is deleted in between', async () => {
  const { db } = database;
  const promotional = async (email: string) => promotionalOf(await enterOnce(email));
  assert.equal(await promotional('mallory@example.org'), 250);
  const erased = `update accounts set email = 'erased:' || id where email = 'mallory@example.org'`;
  await sql(db, erased);
  assert.equal(await promotional('mallory@example.org'), 0);
  const tags = Array.from({ length: 4 }, (_, n) => `mallory+${n}@example.org`);
  assert.deepEqual(await Promise.all(tags.map(promotional)), [0, 0, 0, 0]);
  const others = ['trudy+1@example.org', 'trudy+2@example.org', 'trudy@example.org'];
  const given = await Promise.all(others.map(promotional));
  assert.deepEqual(given.toSorted(), [0, 0, 250]);
  await database.setClock(366 * 86_400);
  await deleteExpired(db);
  await database.setClock(0);
  const kept = await sql(db, 'select from signup_grants');
  assert.equal(kept.length, 0);
});

/** The addresses of four mailboxes, by their mail services' rules; the first names the mailbox. */
const MAILBOXES = [
  ['annlee@gmail.com', 'ann.lee@gmail.com', 'a.nn.lee+2@googlemail.com', 'AnnLee@Gmail.com'],
  ['annlee@proton.me', 'ann_lee@proton.me', 'ann-lee+x@proton.me', 'a.n.n.lee@proton.me'],
  ['ann@fastmail.com', 'shop@ann.fastmail.com', 'ann+1@fastmail.com', 'b+c@ann.fastmail.com'],
  ['ann.lee@outlook.com', 'Ann.Lee+2@outlook.com'],
];

test('the addresses of one mailbox have one name, and no others have it', () => {
  for (const [name = '', ...others] of MAILBOXES) {
    for (const address of [name, ...others]) assert.equal(mailboxOf(address), name);
  }
  const apart = [
    'ann.lee@example.org',
    'annlee@example.org',
    'ann-lee@gmail.com',
    'annlee@pm.me',
    'a.b@gmail.com.example.org',
    'ann@shop.ann.fastmail.com',
    'annlee@outlook.com',
  ];
  for (const address of apart) assert.equal(mailboxOf(address), address);
});

test('a mailbox gets its credits once, whatever its mail service ignores in addresses', async () => {
  for (const addresses of MAILBOXES) {
    const accounts = new Set(await Promise.all(addresses.map(enterOnce)));
    const given = await Promise.all([...accounts].map(promotionalOf));
    assert.deepEqual(given.filter(Boolean), [250], addresses.join(' '));
  }
});

test('an account that an operator made gets no credits at the first sign-in', async () => {
  const accountId = await createAccount(database.db, 'Grace@Example.org');
  assert.equal(await enterOnce('grace@example.org'), accountId);
  assert.equal((await balances(database.db, accountId)).promotional.available, 0);
});

test('expired challenges, sign-in starts and windows are deleted, and no others', async () => {
  const { db, setClock } = database;
  const counts = async () => {
    const select = `select (select count(*)::int from passkey_challenges) as challenges,
        (select count(*)::int from sign_in_starts) as starts,
        (select count(*)::int from request_windows where subject like 'ip:%') as windows`;
    const [row] = await sql<Record<string, number>>(db, select);
    return row;
  };
  const make = async (name: string) => {
    await storeChallenge(db, name, NOBODY);
    await storeStart(db, 'github', '/');
    await countRequest(db, `ip:${name}`, { max: 5, seconds: 60 });
  };
  await make('old');
  await setClock(3 * 86_400);
  await make('new');
  await deleteExpired(db);
  assert.deepEqual(await counts(), { challenges: 1, starts: 1, windows: 1 });
  await setClock(0);
});
