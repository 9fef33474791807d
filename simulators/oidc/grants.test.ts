import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { createGrants } from './grants.ts';

test('a code is redeemed once, and only with its secret, address and PKCE verifier', () => {
  const grants = createGrants('secret');
  const asked = new URL('http://issuer.test/authorize');
  const address = 'http://service.test/back';
  asked.searchParams.set('redirect_uri', address);
  asked.searchParams.set('code_challenge', hash('sha256', 'verifier', 'base64url'));
  const person = { subject: '1', email: 'ada@example.com', isVerified: true };
  const formWith = (change: Record<string, string>) => {
    const code = new URL(grants.decide(asked.href, person)).searchParams.get('code') ?? '';
    const right = { client_secret: 'secret', redirect_uri: address, code_verifier: 'verifier' };
    return new URLSearchParams({ code, ...right, ...change });
  };
  const good = formWith({});
  assert.equal(grants.redeem(good)?.person, person);
  assert.equal(grants.redeem(good), undefined);
  for (const name of ['client_secret', 'redirect_uri', 'code_verifier']) {
    assert.equal(grants.redeem(formWith({ [name]: 'wrong' })), undefined, name);
  }
});
