import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../kernel/errors.ts';
import { readWebsite } from './website.ts';

test('nobody is an operator and no proxy is trusted by default', () => {
  const { adminEmails, trustedProxies } = readWebsite({});
  assert.deepEqual([...adminEmails], []);
  assert.equal(trustedProxies, undefined);
});

test('the addresses of operators are compared without case', () => {
  const { adminEmails } = readWebsite({ ADMIN_EMAILS: ' Eve@Example.org, bob@localhost ,' });
  assert.deepEqual([...adminEmails], ['eve@example.org', 'bob@localhost']);
});

test('proxies are addresses, networks or named networks', () => {
  const TRUST_PROXY = 'loopback, 10.0.0.0/8,fd00::/8';
  assert.equal(readWebsite({ TRUST_PROXY }).trustedProxies, 'loopback,10.0.0.0/8,fd00::/8');
});

test('a malformed value is refused with the name of the variable', () => {
  for (const [name, value] of [
    ['ADMIN_EMAILS', 'eve'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '10.0.0.0/99'],
  ] as const) {
    assert.throws(
      () => readWebsite({ [name]: value }),
      (error: Error) => error instanceof UsageError && error.message.startsWith(name),
    );
  }
});
