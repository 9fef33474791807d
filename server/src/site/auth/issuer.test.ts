import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { type SimulatedOidc, startSimulatedOidc } from '../../../../simulators/oidc/oidc.ts';
import { assertError } from '../../../test/envelope.ts';
import { recordingLog } from '../../../test/recording-log.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { ORIGIN, openTestWebsite } from '../../../test/website/website.ts';
import { createIssuers } from '../../sign-in/issuers/configured-issuers.ts';
import { removeIdentities } from '../../sign-in/issuers/identities.ts';
import { nextPath } from './issuer.ts';

let subjects = 1000;

const simulator = await startSimulatedOidc();
const { url, client } = simulator;
const website = await openTestWebsite({
  log: recordingLog().log,
  signupCredits: 70,
  issuers: createIssuers({
    github: { url, ...client },
    google: undefined,
    oidc: { issuer: url, ...client },
  }),
});
const { db } = website.database;
after(() => simulator.close());
afterEach(() => simulator.fault('none'));

function person({ isVerified = true } = {}) {
  subjects += 1;
  return { subject: String(subjects), email: `person${subjects}@example.org`, isVerified };
}

interface Browser {
  cookies: string;
}

/** Follows a link, on a page of another site or of ours: browsers then send no Origin. */
async function visit(url: string, browser: Browser) {
  const { pathname, search } = new URL(url, ORIGIN);
  const response = await website.app.inject({
    method: 'GET',
    url: pathname + search,
    remoteAddress: `198.51.100.${subjects % 250}`,
    headers: { cookie: browser.cookies },
  });
  for (const cookie of [response.headers['set-cookie'] ?? []].flat()) {
    browser.cookies = [browser.cookies, cookie.split(';')[0]].filter(Boolean).join('; ');
  }
  return { status: response.statusCode, location: String(response.headers.location) };
}

async function start(issuer: string, browser: Browser, next = '/videos'): Promise<string> {
  const url = `/auth/start/${issuer}?next=${encodeURIComponent(next)}`;
  const { status, location } = await visit(url, browser);
  assert.equal(status, 302);
  return location;
}

/** Signs somebody in at an issuer, from a browser that was not here before. */
async function signIn(
  issuer: string,
  who: Parameters<SimulatedOidc['decide']>[1],
  next?: string,
): Promise<{ browser: Browser; status: number; location: string }> {
  const browser = { cookies: '' };
  const back = simulator.decide(await start(issuer, browser, next), who);
  return { browser, ...(await visit(back, browser)) };
}

function me({ cookies }: Browser) {
  return website.stranger.send({ url: '/console/api/me', headers: { cookie: cookies } });
}

async function accountOf(browser: Browser) {
  return (await me(browser)).body;
}

test('an issuer that is down at the first sign-in is asked again at the next one', async () => {
  simulator.fault('down');
  assert.equal(await start('oidc', { cookies: '' }, '/'), '/sign-in?error=unavailable');
  simulator.fault('none');
  assert.match(await start('oidc', { cookies: '' }), /\/authorize\?/);
});

for (const issuer of ['github', 'oidc']) {
  test(`${issuer}: the first sign-in makes an account, the next one finds it`, async () => {
    const somebody = person();
    const { browser, ...response } = await signIn(issuer, somebody);
    assert.deepEqual(response, { status: 302, location: '/videos' });
    const account = await accountOf(browser);
    assert.equal(account.email, somebody.email);
    assert.equal(account.credits.promotional, 70);
    const other = await signIn(issuer, { ...somebody, email: 'moved@example.org' });
    assert.equal((await accountOf(other.browser)).account_id, account.account_id);
  });

  test(`${issuer}: an address that is not verified opens no account`, async () => {
    const known = await website.signIn();
    for (const email of [known.email, 'unverified@example.org']) {
      const claims = { ...person({ isVerified: false }), email };
      const { browser, location } = await signIn(issuer, claims);
      assert.equal(location, '/sign-in?error=unverified&next=%2Fvideos');
      assertError(await me(browser), 'unauthorized');
    }
    const rows = await sql(db, `select from accounts where email = 'unverified@example.org'`);
    assert.equal(rows.length, 0);
  });

  test(`${issuer}: a verified address links the identity to its account`, async () => {
    const known = await website.signIn();
    const claims = { ...person(), email: known.email.toUpperCase() };
    const { browser } = await signIn(issuer, claims);
    assert.equal((await accountOf(browser)).account_id, known.accountId);
    await website.sendMails();
    const subjects = website.outbox.flatMap(({ to, subject }) =>
      to === known.email ? subject : [],
    );
    assert.deepEqual(subjects, ['An account of another service now signs in to your account']);
    const close = { email: known.email };
    assert.equal((await known.write('/console/api/account/delete', close)).status, 200);
    assert.equal((await signIn(issuer, claims)).location, '/settings?reopened=yes');
    await removeIdentities(db, known.accountId);
    const moved = await signIn(issuer, { ...claims, email: `moved-${known.email}` });
    assert.notEqual((await accountOf(moved.browser)).account_id, known.accountId);
  });

  test(`${issuer}: another state, browser or issuer and a used code sign nobody in`, async () => {
    const browser = { cookies: '' };
    const back = new URL(simulator.decide(await start(issuer, browser), person()));
    const forged = new URL(back);
    forged.searchParams.set('state', 'another');
    const expired = '/sign-in?error=expired';
    assert.equal((await visit(back.href, { cookies: '' })).location, expired);
    const failed = '/sign-in?error=failed&next=%2Fvideos';
    assert.equal((await visit(forged.href, browser)).location, failed);
    assert.equal((await visit(back.href, browser)).location, expired, 'the start is used up');
    const honest = { cookies: '' };
    const url = await start(issuer, honest);
    const code = simulator.decide(url, person());
    assert.equal((await visit(code, honest)).location, '/videos');
    const replaying = { cookies: '' };
    const state = new URL(await start(issuer, replaying)).searchParams.get('state') ?? '';
    const replayed = new URL(code);
    replayed.searchParams.set('state', state);
    assert.equal((await visit(replayed.href, replaying)).location, failed);
    const misled = { cookies: '' };
    const named = new URL(simulator.decide(await start(issuer, misled), person()));
    named.searchParams.set('iss', 'https://evil.example');
    assert.equal((await visit(named.href, misled)).location, failed);
  });

  test(`${issuer}: a person who declines, or an issuer that is down, leads back to the sign-in page`, async () => {
    const denied = await signIn(issuer, 'deny');
    assert.equal(denied.location, '/sign-in?error=denied&next=%2Fvideos');
    const other = { cookies: '' };
    const back = simulator.decide(await start(issuer, other), person());
    simulator.fault('down');
    const { location } = await visit(back, other);
    assert.equal(location, '/sign-in?error=unavailable&next=%2Fvideos');
  });
}

test('an ID token of another sign-in, client or signer is refused', async () => {
  for (const fault of ['nonce', 'audience', 'signature'] as const) {
    const browser = { cookies: '' };
    const back = simulator.decide(await start('oidc', browser), person());
    simulator.fault(fault);
    const { location } = await visit(back, browser);
    assert.equal(location, '/sign-in?error=failed&next=%2Fvideos', fault);
    simulator.fault('none');
  }
});

test('an address that only the userinfo endpoint has is found there', async () => {
  simulator.fault('userinfo');
  const somebody = person();
  const { browser } = await signIn('oidc', somebody);
  assert.equal((await accountOf(browser)).email, somebody.email);
});

test('the account of a disabled person stays closed', async () => {
  const somebody = person();
  await signIn('github', somebody);
  await sql(db, 'update accounts set disabled_at = clock_now() where email = $1', [somebody.email]);
  const again = await signIn('github', somebody);
  assert.equal(again.location, '/sign-in?error=disabled&next=%2Fvideos');
});

test('an issuer that is not configured has no address', async () => {
  for (const url of ['/auth/start/google', '/auth/return/google', '/auth/start/other']) {
    const response = await website.app.inject({ url });
    assert.equal(response.statusCode, 404);
  }
  const { body } = await website.stranger.get('/console/api/site');
  assert.deepEqual(body.sign_in, { passkeys: true, github: true, google: false, oidc: true });
  assert.equal(body.signup_credits, 70);
  assert.equal(body.billing, false);
  assert.equal(body.prices.standard['video-2.0']['480p'], 30);
});

test('after the sign-in a browser opens a path of ours, and never another site', () => {
  for (const path of ['/', '/videos', '/videos/task_1?tab=credits#top', '/keys?a=//b', '/a%2Fb']) {
    assert.equal(nextPath(path), path);
  }
  const base = 'https://video.example.com';
  for (const asked of ['/@evil.example', '/;//evil.example', '/a//b', '/%5cevil.example']) {
    assert.equal(new URL(nextPath(asked), base).origin, base, asked);
  }
  const starts = ['//', '///', '/\\', '\\\\', '/\t/', '/\n/', '/.//', '/..//', '/x/..//', '/%2e//'];
  const sites = [...starts, ' //', 'https://'].map((start) => `${start}evil.example`);
  const schemes = ['javascript:alert(1)', 'data:text/html,x'];
  const ours = ['videos', '/auth/start/github', '/auth/return/oidc?code=1', '/auth'];
  const others = [undefined, '', ...sites, ...schemes, ...ours];
  for (const path of others) assert.equal(nextPath(path), '/', path ?? '');
});
