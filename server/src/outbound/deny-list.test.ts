import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../kernel/errors.ts';
import { checkAddresses, checkUrl, parseAllowList, parseDenyList } from './addresses.ts';
import { OutboundError } from './refusal.ts';

const DENY = parseDenyList('20.1.2.0/24, 20.9.9.9,2a00:1450::/32');
const DENIED = [
  '20.1.2.0',
  '20.1.2.255',
  '20.9.9.9',
  '2a00:1450::1',
  '2a00:1450:ffff::',
  '::ffff:20.1.2.3',
  '64:ff9b::1401:203',
];
const OTHERS = ['20.1.1.255', '20.1.3.0', '20.9.9.8', '2a00:1451::1', '64:ff9b::1401:103'];

function isRefused(address: string, allow = ''): boolean {
  const hosts = { allow: parseAllowList(allow), deny: DENY };
  const isLiteral = refuses(() =>
    checkUrl(`https://${address.includes(':') ? `[${address}]` : address}/`, hosts),
  );
  const isResolved = refuses(() =>
    checkAddresses(new URL('https://media.example.com/'), ['8.8.8.8', address], hosts),
  );
  assert.equal(isLiteral, isResolved, address);
  return isLiteral;
}

function refuses(check: () => unknown): boolean {
  try {
    check();
    return false;
  } catch (error) {
    assert.ok(error instanceof OutboundError);
    assert.equal(error.reason, 'not_public');
    return true;
  }
}

test('a denied network is not public, in the URL and behind a name', () => {
  for (const address of DENIED) assert.equal(isRefused(address), true, address);
  for (const address of OTHERS) assert.equal(isRefused(address), false, address);
});

test('a host on the allow list may be in a denied network', () => {
  assert.equal(isRefused('20.1.2.3', '20.1.2.3:443'), false);
  assert.equal(isRefused('20.1.2.3', '20.1.2.4:443,20.1.2.3:80'), true);
});

test('the error for an invalid entry of the deny list names the entry', () => {
  const entries = ['example.com', '20.1.2', '20.1.2.0/33', '20.1.2.0/', '::/129', 'fe80::1%eth0'];
  for (const entry of [...entries, '', '20.1.2.0-20.1.2.9', '20.1.2.0/255.255.255.0']) {
    assert.throws(
      () => parseDenyList(`20.1.2.3,${entry}`),
      (error) => error instanceof UsageError && error.message.includes(`"${entry}"`),
      entry,
    );
  }
});
