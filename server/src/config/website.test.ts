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
    ['SMTP_URL', 'https://mail.example.com'],
    ['GITHUB_CLIENT_ID', 'without-a-secret'],
    ['OIDC_ISSUER', 'https://id.example.com'],
    ['OIDC_ISSUER', 'http://id.example.com'],
    ['GITHUB_URL', 'http://github.example.com'],
    ['SIGNUP_CREDITS', '-1'],
  ] as const) {
    assert.throws(
      () => readWebsite({ [name]: value }),
      (error: Error) => error instanceof UsageError && error.message.startsWith(name),
    );
  }
});

const SMTP_URL = 'smtps://ada%40example.com:p%3Ass@mail.example.com';

test('mail is sent by a server, whose login may have any characters', () => {
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

test('a password is not shown', () => {
  for (const settings of [{ SMTP_URL }, { SMTP_URL: SMTP_URL.replace('smtps', 'ftp') }]) {
    assert.throws(
      () => readWebsite(settings),
      (error: Error) => error instanceof UsageError && !error.message.includes('p%3Ass'),
    );
  }
});

test('the slash at the end of an issuer stays, since it is compared', () => {
  const OIDC_ISSUER = 'https://id.example.com/application/video/';
  const { oidc } = readWebsite({
    OIDC_ISSUER,
    OIDC_CLIENT_ID: 'id',
    OIDC_CLIENT_SECRET: 'secret',
  }).issuers;
  assert.equal(oidc?.issuer, OIDC_ISSUER);
});
