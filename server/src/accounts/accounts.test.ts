import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { createAccount, findAccount } from './accounts.ts';
import { networkOf, rateKeyOf } from './client-network.ts';

const database = await openTestDatabase();
const { db } = database;

test('an account is found by its id, and by its e-mail address in any case', async () => {
  const accountId = await createAccount(db, 'Grace.Hopper@Example.com');
  for (const name of [accountId, 'Grace.Hopper@Example.com', 'grace.hopper@example.COM']) {
    assert.equal(await findAccount(db, name), accountId);
  }
  await assert.rejects(findAccount(db, 'nobody@example.com'), UsageError);
  await assert.rejects(findAccount(db, ''), UsageError);
});

test('an e-mail address gets only one account, even if several calls create it at once', async () => {
  const attempts = ['a@x.org', 'A@x.org', 'a@X.org', 'A@X.ORG'].map((email) =>
    createAccount(db, email),
  );
  const outcomes = await Promise.allSettled(attempts);
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof UsageError);
  }
});

test('an invalid e-mail address is refused', async () => {
  const long = `${'x'.repeat(250)}@x.org`;
  for (const email of ['', 'ada', 'ada@', '@example.com', 'a b@example.com', 'a@b@c', long]) {
    await assert.rejects(createAccount(db, email), UsageError, email);
  }
});

test('requests are counted by IPv4 address and by /64 of IPv6', () => {
  assert.equal(rateKeyOf('203.0.113.7'), 'ip:203.0.113.7');
  assert.equal(rateKeyOf('::ffff:203.0.113.7'), 'ip:203.0.113.7');
  assert.equal(rateKeyOf('2001:db8:1:2:3:4:5:6'), rateKeyOf('2001:db8:1:2::9'));
  assert.notEqual(rateKeyOf('2001:db8:1:2::9'), rateKeyOf('2001:db8:1:3::9'));
  assert.equal(rateKeyOf('fe80::1%eth0'), rateKeyOf('fe80::2'));
  assert.equal(rateKeyOf('nonsense'), 'ip:unknown');
});

test('the network of a session does not name one machine', () => {
  assert.equal(networkOf('203.0.113.7'), '203.0.113.0/24');
  assert.equal(networkOf('2001:db8:1:2::9'), '2001:db8:1::/48');
  assert.equal(networkOf('nonsense'), null);
});
