import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBilling } from './billing.ts';

const SET = { STRIPE_SECRET_KEY: 'sk_live_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' };

test('nothing is sold unless a key is set', () => {
  assert.equal(readBilling({}), undefined);
  const settings = { secretKey: 'sk_live_1', webhookSecret: 'whsec_1', baseUrl: undefined };
  assert.deepEqual(readBilling(SET), settings);
  const simulated = readBilling({ ...SET, STRIPE_BASE_URL: 'http://127.0.0.1:12111/' });
  assert.equal(simulated?.baseUrl, 'http://127.0.0.1:12111');
});

test('half a setting, and a value that is no key, keep the service from starting without showing it', () => {
  for (const env of [
    { STRIPE_SECRET_KEY: 'sk_live_1' },
    { STRIPE_WEBHOOK_SECRET: 'whsec_1' },
    { STRIPE_BASE_URL: 'http://127.0.0.1:1' },
    { ...SET, STRIPE_SECRET_KEY: 'pk_live_secret' },
    { ...SET, STRIPE_SECRET_KEY: 'sk_org_secret' },
    { ...SET, STRIPE_BASE_URL: 'ftp://127.0.0.1' },
  ]) {
    assert.throws(() => readBilling(env), /^UsageError: (?!.*pk_live_secret)STRIPE_/);
  }
});
