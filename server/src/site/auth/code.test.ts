import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import type { ParsedResponse } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { ORIGIN, openTestWebsite } from '../../../test/website/website.ts';
import { createApp } from '../../http/app.ts';

let people = 0;

const website = await openTestWebsite({ signupCredits: 500 });
const { db, setClock } = website.database;
const { outbox } = website;
afterEach(() => outbox.splice(0));

/** Each test has its own people and IP addresses, since requests are limited. */
function person(): { email: string; remoteAddress: string } {
  people += 1;
  return { email: `person${people}@example.org`, remoteAddress: `198.51.100.${people}` };
}

type Person = ReturnType<typeof person>;

function post(url: string, body: object, { remoteAddress }: Person, headers = {}) {
  return website.stranger.send({
    method: 'POST',
    url,
    payload: JSON.stringify(body),
    remoteAddress,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** The code in the newest mail. */
function mailedCode(): string {
  return /^\d{8}/.exec(outbox.at(-1)?.text ?? '')?.[0] ?? '';
}

async function codeFor(who: Person): Promise<string> {
  const { status } = await post('/auth/code', { email: who.email }, who);
  assert.equal(status, 200);
  return mailedCode();
}

function verify(who: Person, code: string, headers = {}): Promise<ParsedResponse> {
  return post('/auth/code/verify', { email: who.email, code }, who, headers);
}

function cookieOf({ headers }: ParsedResponse): string {
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

async function me(cookie: string): Promise<ParsedResponse> {
  return website.stranger.send({ url: '/console/api/me', headers: { cookie } });
}

function otherThan(code: string, i = 1): string {
  return String((Number(code) + i) % 1e8).padStart(8, '0');
}

test('a mailed code signs in, and the first sign-in makes the account', async () => {
  const who = person();
  const code = await codeFor(who);
  assert.match(outbox[0]?.text ?? '', new RegExp(`^${code}\\n[^]*${ORIGIN}`));
  const response = await verify(who, code);
  assert.equal(response.status, 200, JSON.stringify(response.body));
  assert.match(
    String(response.headers['set-cookie']),
    /^framewright=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=7776000$/,
  );
  const { body } = await me(cookieOf(response));
  assert.equal(body.email, who.email);
  assert.deepEqual(body.credits, { paid: 0, promotional: 500, reserved: 0, owed: 0 });
  const again = await verify(who, await codeFor({ ...who, email: who.email.toUpperCase() }));
  const second = await me(cookieOf(again));
  assert.equal(second.body.account_id, body.account_id);
  assert.equal(second.body.credits.promotional, 500);
});

test('over https the cookie is bound to the host', async () => {
  const publicUrl = 'https://video.example.com';
  const secure = await openTestWebsite({ publicUrl: () => publicUrl });
  const send = (url: string, body: object) =>
    secure.stranger.send({
      method: 'POST',
      url,
      payload: JSON.stringify(body),
      headers: { 'content-type': 'application/json', origin: publicUrl },
    });
  const email = 'eve@example.org';
  await send('/auth/code', { email });
  const code = secure.outbox[0]?.text.slice(0, 8);
  const { headers } = await send('/auth/code/verify', { email, code });
  const cookie = String(headers['set-cookie']);
  assert.match(cookie, /^__Host-framewright=[\w-]{43}; Path=\/; HttpOnly; .*; Secure$/);
  const plain = cookie.replace('__Host-', '').split(';')[0] ?? '';
  assertError(
    await secure.stranger.send({ url: '/console/api/me', headers: { cookie: plain } }),
    'unauthorized',
  );
});

test('a code works once, in time, for its own address, until the next one', async () => {
  const who = person();
  const code = await codeFor(who);
  assertError(await verify({ ...who, email: person().email }, code), 'sign_in_failed');
  assert.equal((await verify(who, code)).status, 200);
  assertError(await verify(who, code), 'sign_in_failed');
  const late = await codeFor(who);
  await setClock(601);
  assertError(await verify(who, late), 'sign_in_failed');
  await setClock(0);
  const old = await codeFor(who);
  const newer = await codeFor(who);
  assertError(await verify(who, old), 'sign_in_failed');
  assert.equal((await verify(who, newer)).status, 200);
});

test('known and unknown addresses get the same responses', async () => {
  const known = person();
  await verify(known, await codeFor(known));
  const unknown = person();
  const seen = [];
  for (const who of [known, unknown]) {
    const asked = await post('/auth/code', { email: who.email }, who);
    const tried = await verify(who, otherThan(mailedCode()));
    seen.push(
      [asked, tried].map(({ status, body, headers }) => [status, body, Object.keys(headers)]),
    );
  }
  assert.deepEqual(seen[0], seen[1]);
  assert.equal(outbox.filter(({ to }) => to === unknown.email).length, 1);
});

test('a code that is sent several times at once signs in once, with one account', async () => {
  const who = person();
  const code = await codeFor(who);
  const sent = await Promise.all([1, 2, 3, 4].map(() => verify(who, code)));
  assert.equal(sent.filter(({ status }) => status === 200).length, 1);
  const select = `select count(*)::int as accounts from accounts where email = $1`;
  const rows = await sql(db, select, [who.email]);
  assert.deepEqual(rows, [{ accounts: 1 }]);
});

test('of the guesses at several processes at once five are compared, and no more', async () => {
  const second = await createApp(website.deps); // of the same database
  try {
    const who = person();
    const code = await codeFor(who);
    const guess = (app: FastifyInstance, i: number) =>
      app.inject({
        method: 'POST',
        url: '/auth/code/verify',
        remoteAddress: `203.0.113.${i + 1}`,
        headers: { origin: ORIGIN },
        payload: { email: who.email, code: otherThan(code, i + 1) },
      });
    const four = [website.app, second, website.app, second];
    await Promise.all(four.map(guess));
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, i) => guess(i % 2 === 0 ? website.app : second, 10 + i)),
    );
    for (const { statusCode } of responses) assert.equal(statusCode, 403);
    const tries = 'select tries from sign_in_codes where email = $1';
    const [row] = await sql<{ tries: number }>(db, tries, [who.email]);
    assert.equal(row?.tries, 5);
    assertError(await verify(who, code), 'sign_in_failed');
    const lucky = person();
    const fifth = await codeFor(lucky);
    for (const i of [1, 2, 3, 4]) {
      assertError(await verify(lucky, otherThan(fifth, i)), 'sign_in_failed');
    }
    assert.equal((await verify(lucky, fifth)).status, 200);
  } finally {
    await second.close();
  }
});

test('a disabled account gets no session, and is told only after the right code', async () => {
  const who = person();
  await verify(who, await codeFor(who));
  await sql(db, 'update accounts set disabled_at = clock_now() where email = $1', [who.email]);
  const code = await codeFor(who);
  assertError(await verify(who, otherThan(code)), 'sign_in_failed');
  assertError(await verify(who, code), 'account_disabled');
});

test('a session cookie that was planted in the browser is worthless after a sign-in', async () => {
  const attacker = await website.signIn();
  const who = person();
  const planted = `framewright=${'A'.repeat(43)}`;
  const response = await verify(who, await codeFor(who), { cookie: planted });
  assert.notEqual(cookieOf(response), planted);
  assertError(await me(planted), 'unauthorized');
  const other = person();
  await verify(other, await codeFor(other), { cookie: attacker.cookie });
  assertError(await attacker.get('/console/api/me'), 'unauthorized');
});

test('the addresses of one mailbox get five codes in a quarter of an hour, known or not', async () => {
  const who = person();
  const tagged = (tag: string) => ({ ...person(), email: who.email.replace('@', `+${tag}@`) });
  const known = tagged('known');
  assert.equal((await verify(known, await codeFor(known))).status, 200);
  for (const tag of ['2', '3', '4', '5']) await codeFor(tagged(tag));
  const refused = await Promise.all(
    [who, known, tagged('6'), { ...tagged('7'), email: who.email.toUpperCase() }].map((one) =>
      post('/auth/code', { email: one.email }, { ...person(), email: one.email }),
    ),
  );
  const bodies = refused.map((response) => {
    assertError(response, 'rate_limited');
    return response.body.error.message.replace(/\d+/, 'N');
  });
  assert.equal(new Set(bodies).size, 1, `${bodies}`);
  assert.equal(outbox.length, 5);
  await setClock(Number(refused[0]?.headers['retry-after']) + 1);
  assert.equal((await post('/auth/code', { email: who.email }, person())).status, 200);
  await setClock(0);
});

test('an IP address that asks for many codes at once gets exactly twenty', async () => {
  const { remoteAddress } = person();
  const sent = await Promise.all(
    Array.from({ length: 30 }, () => {
      const { email } = person();
      return post('/auth/code', { email }, { email, remoteAddress });
    }),
  );
  assert.equal(sent.filter(({ status }) => status === 200).length, 20);
  assert.equal(outbox.length, 20);
});

test('a mail server that never responds does not hold the request', async () => {
  const hanging = await openTestWebsite({ sendMail: () => new Promise(() => {}) });
  const { status } = await hanging.stranger.write('/auth/code', { email: 'eve@example.org' });
  assert.equal(status, 200);
});

test('a malformed address or code is refused with its field', async () => {
  const who = person();
  const emails = ['', 'eve', 'eve@', 'a@b,c@d', 'eve@exam\u0000ple.org', 'ev\u0130@example.org'];
  for (const email of emails) {
    assertError(await post('/auth/code', { email }, who), 'invalid_request', { field: 'email' });
  }
  for (const code of ['', '1234567', '123456789', '1234567a']) {
    assertError(await verify(who, code), 'invalid_request', { field: 'code' });
  }
  const extra = { email: who.email, next: '/videos' };
  assertError(await post('/auth/code', extra, who), 'invalid_request', { field: 'next' });
});
