import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf, rateKeyOf } from './client-network.ts';

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
