import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { readBilling } from './billing.ts';
import { readTracing } from './tracing.ts';
import { readWebsite } from './website.ts';

test('proxies are addresses, networks or named networks', () => {
  const TRUST_PROXY = 'loopback, 10.0.0.0/8,fd00::/8';
  assert.equal(readWebsite({ TRUST_PROXY }).trustedProxies, 'loopback,10.0.0.0/8,fd00::/8');
});

test('a malformed value is refused with the name of the variable', () => {
  for (const [name, value] of [
    ['ADMIN_EMAILS', 'eve'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '10.0.0.0/99'],
    ['SMTP_URL', 'https://mail.example.com'],
    ['GITHUB_CLIENT_ID', 'without-a-secret'],
    ['OIDC_ISSUER', 'https://id.example.com'],
    ['OIDC_ISSUER', 'http://id.example.com'],
    ['GITHUB_URL', 'http://github.example.com'],
    ['SIGNUP_CREDITS', '-1'],
  ] as const) {
    assert.throws(() => readWebsite({ [name]: value }), isOneLineAbout(new RegExp(`^${name}`)));
  }
});

const SMTP_URL = 'smtps://ada%40example.com:p%3Ass@mail.example.com';

test('SMTP_URL names the mail server; its login may have any characters', () => {
  const { mail } = readWebsite({ SMTP_URL, MAIL_FROM: 'Video <no-reply@example.com>' });
  assert.deepEqual(mail, {
    host: 'mail.example.com',
    port: 465,
    isTls: true,
    from: 'Video <no-reply@example.com>',
    login: { user: 'ada@example.com', pass: 'p:ss' },
  });
  const MAIL_FROM = 'no-reply@example.com';
  const plain = readWebsite({ SMTP_URL: 'smtp://127.0.0.1:2525', MAIL_FROM }).mail;
  assert.deepEqual([plain?.port, plain?.isTls, plain?.login], [2525, false, undefined]);
});

test('an error about the mail server does not show its password', () => {
  for (const settings of [{ SMTP_URL }, { SMTP_URL: SMTP_URL.replace('smtps', 'ftp') }]) {
    assert.throws(() => readWebsite(settings), isOneLineAbout(/^(?!.*p%3Ass)/));
  }
});

test('the slash at the end of an issuer stays, since issuers are compared verbatim', () => {
  const OIDC_ISSUER = 'https://id.example.com/application/video/';
  const { oidc } = readWebsite({
    OIDC_ISSUER,
    OIDC_CLIENT_ID: 'id',
    OIDC_CLIENT_SECRET: 'secret',
  }).issuers;
  assert.equal(oidc?.issuer, OIDC_ISSUER);
});

const SET = { STRIPE_SECRET_KEY: 'sk_live_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' };

test('nothing is sold unless a key is set', () => {
  assert.equal(readBilling({}), undefined);
  const settings = { secretKey: 'sk_live_1', webhookSecret: 'whsec_1', baseUrl: undefined };
  assert.deepEqual(readBilling(SET), settings);
  const simulated = readBilling({ ...SET, STRIPE_BASE_URL: 'http://127.0.0.1:12111/' });
  assert.equal(simulated?.baseUrl, 'http://127.0.0.1:12111');
});

test('incomplete or invalid Stripe variables are refused, and the key is not shown', () => {
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

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

test('tracing is off until an endpoint or the exporter is set', () => {
  assert.equal(readTracing({}), undefined);
  const on = { sampler: 'parentbased_always_on', ratio: 1 };
  assert.deepEqual(readTracing(ENDPOINT), on);
  assert.deepEqual(readTracing({ OTEL_TRACES_EXPORTER: 'otlp' }), on);
  assert.equal(readTracing({ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }), undefined);
  assert.equal(readTracing({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }), undefined);
});

test('values of OpenTelemetry that the service does not support are refused', () => {
  for (const [name, value] of [
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
    ['OTEL_SDK_DISABLED', 'yes'],
  ] as const) {
    assert.throws(() => readTracing({ [name]: value }), { message: new RegExp(`^${name}=`) });
  }
});
