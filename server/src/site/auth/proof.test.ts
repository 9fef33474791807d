import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { sql, untilBlocked } from '../../../test/task-fixtures.ts';
import { addPasskey, createAuthenticator } from '../../../test/website/authenticator.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { lockAccount } from '../../accounts/accounts.ts';
import { listSignIns, signOutByOperator } from '../../operator/verbs/accounts.ts';
import { beginSession } from '../../sign-in/sessions.ts';

const KEYS = '/console/api/keys';

const website = await openTestWebsite();
const { db, setClock } = website.database;

/** A visitor whose last proof is too old. */
async function visitorOfYesterday(): Promise<TestVisitor> {
  const visitor = await website.signIn();
  await website.outdateProof(visitor);
  return visitor;
}

const createKey = (visitor: TestVisitor) => visitor.write(KEYS, { name: 'server' });
const ask = (visitor: TestVisitor, act = 'api_key') => visitor.write('/auth/proof/code', { act });
const prove = (visitor: TestVisitor, code: string) =>
  visitor.write('/auth/proof/code/verify', { code });

/** The newest mail to somebody. */
function mailTo({ email }: TestVisitor) {
  const mail = website.outbox.findLast(({ to }) => to === email);
  assert.ok(mail, `no mail to ${email}`);
  return mail;
}

const codeFor = (visitor: TestVisitor) => /^\d{8}/.exec(mailTo(visitor).text)?.[0] ?? '';

/** The same account in another browser, whose last proof is too old as well. */
async function otherBrowser(visitor: TestVisitor): Promise<TestVisitor> {
  const from = { method: 'code', network: null, browser: null };
  const token = await beginSession(db, visitor.accountId, from);
  await website.outdateProof(visitor);
  return website.visitor({ ...visitor, cookie: `framewright=${token}` });
}

test('without a fresh proof a session gets no passkey, key, cap, purchase or deletion', async () => {
  const visitor = await website.signIn();
  const { id } = (await createKey(visitor)).body.key;
  await website.outdateProof(visitor);
  const response = { id: 'abc', rawId: 'abc', type: 'public-key', response: {} };
  const reload = { auto_reload: { pack_id: 'small', below: 5, monthly_limit: 5000 } };
  const refused = [
    [await visitor.write('/auth/passkeys/options'), 'passkey'],
    [await visitor.write('/auth/passkeys', { name: 'thief', response }), 'passkey'],
    [await createKey(visitor), 'api_key'],
    [await visitor.write(`${KEYS}/${id}`, { monthly_cap: null }, 'PATCH'), 'api_key_cap'],
    [await visitor.write(`${KEYS}/${id}`, { expires_at: null }, 'PATCH'), 'api_key_cap'],
    [await visitor.write('/console/api/auto-reload', reload, 'PUT'), 'auto_reload'],
    // In the portal, another plan is charged to the saved card at once.
    [await visitor.write('/console/api/portal'), 'plan'],
    [await visitor.write('/console/api/account/delete', { email: visitor.email }), 'deletion'],
  ] as const;
  for (const [response, act] of refused) assertError(response, 'proof_required', { act });
  assert.equal((await visitor.get(KEYS)).body.items.length, 2);
  const renamed = await visitor.write(`${KEYS}/${id}`, { name: 'web' }, 'PATCH');
  assert.deepEqual([renamed.status, renamed.body.name], [200, 'web']);
  assert.equal((await visitor.delete(`${KEYS}/${id}`)).status, 200);
  assertError(
    await visitor.write('/console/api/auto-reload', { auto_reload: null }, 'PUT'),
    'not_found', // nothing is sold here
  );
});

test('a mailed code names the act, and is a proof for ten minutes in its session only', async () => {
  const visitor = await visitorOfYesterday();
  const other = await otherBrowser(visitor);
  const [listed] = (await visitor.get('/console/api/sessions')).body.items;
  assert.ok(listed);
  assert.equal((await ask(visitor)).status, 200);
  const { subject, text } = mailTo(visitor);
  const code = codeFor(visitor);
  assert.equal(subject, `${code} is your code to create an API key`);
  assert.match(text, /an unknown browser, network 127\.0\.0\.0\/24/);
  assertError(await prove(other, code), 'sign_in_failed');
  assert.equal((await prove(visitor, code)).status, 200);
  assert.equal((await createKey(visitor)).status, 201);
  assertError(await createKey(other), 'proof_required');
  assertError(await prove(visitor, code), 'sign_in_failed');
  const proved = `update sessions set proved_at = proved_at - $2 * interval '1 second'
    where account_id = $1 and proved_at is not null`;
  await sql(db, proved, [visitor.accountId, 590]);
  assert.equal((await createKey(visitor)).status, 201);
  await sql(db, proved, [visitor.accountId, 11]);
  assertError(await createKey(visitor), 'proof_required');
});

test('a code to confirm signs nobody in, and a code to sign in confirms nothing', async () => {
  const visitor = await visitorOfYesterday();
  await ask(visitor);
  const proof = codeFor(visitor);
  const { email } = visitor;
  const enter = (code: string) => website.stranger.write('/auth/code/verify', { email, code });
  assertError(await enter(proof), 'sign_in_failed');
  await website.stranger.write('/auth/code', { email });
  const signIn = codeFor(visitor);
  assertError(await enter(proof), 'sign_in_failed');
  assertError(await prove(visitor, signIn), 'sign_in_failed');
  assert.equal((await prove(visitor, proof)).status, 200);
  assert.equal((await enter(signIn)).status, 200);
});

test('of many wrong codes at once five are compared, and the mailbox gets five codes', async () => {
  const visitor = await visitorOfYesterday();
  await ask(visitor);
  const code = codeFor(visitor);
  const wrong = Array.from({ length: 12 }, (_, i) =>
    prove(visitor, String((Number(code) + i + 1) % 1e8).padStart(8, '0')),
  );
  for (const response of await Promise.all(wrong)) assertError(response, 'sign_in_failed');
  assertError(await prove(visitor, code), 'sign_in_failed');
  for (let codes = 1; codes < 5; codes += 1) assert.equal((await ask(visitor)).status, 200);
  assertError(await ask(visitor), 'rate_limited');
  const { email } = visitor;
  assertError(await website.stranger.write('/auth/code', { email }), 'rate_limited');
  assertError(await ask(visitor, 'anything'), 'invalid_request');
});

test('a passkey of the account is a proof, in the session that asked for its challenge', async () => {
  const visitor = await website.signIn();
  const authenticator = await addPasskey(visitor);
  const foreign = await addPasskey(await website.signIn());
  await website.outdateProof(visitor);
  const other = await otherBrowser(visitor);
  const challenge = async (sender: TestVisitor, url = '/auth/proof/passkey/options') =>
    (await sender.write(url)).body.challenge;
  const use = (sender: TestVisitor, response: object) =>
    sender.write('/auth/proof/passkey', response);
  assertError(await use(visitor, foreign.signIn(await challenge(visitor))), 'sign_in_failed');
  const ofOther = authenticator.signIn(await challenge(other));
  assertError(await use(visitor, ofOther), 'sign_in_failed');
  const forSignIn = await challenge(website.stranger, '/auth/passkey/options');
  assertError(await use(visitor, authenticator.signIn(forSignIn)), 'sign_in_failed');
  const forProof = authenticator.signIn(await challenge(visitor));
  assertError(await website.stranger.write('/auth/passkey', forProof), 'sign_in_failed');
  assertError(await createKey(visitor), 'proof_required');
  const response = authenticator.signIn(await challenge(visitor));
  assert.equal((await use(visitor, response)).status, 200);
  assertError(await use(visitor, response), 'sign_in_failed');
  assert.equal((await createKey(visitor)).status, 201);
});

test('a sign-out by an operator leaves no passkey or key that a session adds meanwhile', async () => {
  const action = { command: 'accounts sign-out', actor: 'ada', reason: 'ticket 95' };
  const thief = await website.signIn();
  const { accountId } = thief;
  const before = await addPasskey(thief);
  const { body } = await thief.write('/auth/passkeys/options');
  const response = createAuthenticator(ORIGIN).register(body.challenge);
  const { adding, signedOut } = await db.transaction(async (tx) => {
    await lockAccount(tx, accountId);
    const given = { account: accountId, only_sessions: false };
    const signedOut = signOutByOperator(db, action, given);
    await untilBlocked(db); // first in the queue
    const adding = [thief.write('/auth/passkeys', { name: 'thief', response }), createKey(thief)];
    await untilBlocked(db, 3);
    return { adding, signedOut };
  });
  assert.equal((await signedOut).removed_passkeys, 1);
  for (const refused of await Promise.all(adding)) assertError(refused, 'unauthorized');
  const { passkeys } = await listSignIns(db, accountId);
  assert.deepEqual(passkeys, []);
  const options = (await website.stranger.write('/auth/passkey/options')).body;
  const late = before.signIn(options.challenge);
  assertError(await website.stranger.write('/auth/passkey', late), 'sign_in_failed');
});

test('the owner gets a mail about each of these acts, without the texts of the request', async () => {
  const visitor = await website.signIn();
  const { id } = (await createKey(visitor)).body.key;
  await website.sendMails();
  const created = mailTo(visitor);
  assert.equal(created.subject, `An API key was created: ${id}`);
  assert.match(created.text, /When: \d{4}-.* UTC\nFrom: an unknown browser, network 127\.0\.0\.0/);
  assert.ok(created.text.includes(`${ORIGIN}/settings`));
  assert.ok(!created.text.includes('server'));
  await visitor.write(`${KEYS}/${id}`, { monthly_cap: 5 }, 'PATCH');
  await website.sendMails();
  assert.equal(mailTo(visitor).subject, `The monthly cap of an API key was changed: ${id}`);
  await addPasskey(visitor);
  await website.sendMails();
  assert.equal(mailTo(visitor).subject, 'A passkey was added to your account');
  const mails = website.outbox.length;
  await visitor.write(`${KEYS}/${id}`, { monthly_cap: 5 }, 'PATCH');
  await visitor.write(`${KEYS}/${id}`, { name: 'web' }, 'PATCH');
  await visitor.write('/auth/passkeys/options');
  await website.sendMails();
  assert.equal(website.outbox.length, mails);
});

async function challengeOf(visitor: TestVisitor, url: string): Promise<string> {
  const { status, body } = await visitor.write(url);
  assert.equal(status, 200, JSON.stringify(body));
  return body.challenge;
}

const toAdd = (visitor: TestVisitor) => challengeOf(visitor, '/auth/passkeys/options');
const toSignIn = () => challengeOf(website.stranger, '/auth/passkey/options');

/** A visitor with a passkey. */
async function withPasskey() {
  const visitor = await website.signIn();
  return { visitor, authenticator: await addPasskey(visitor) };
}

test('a passkey is added, signs in, and is listed with its use', async () => {
  const { visitor, authenticator } = await withPasskey();
  const signedIn = await website.stranger.write(
    '/auth/passkey',
    authenticator.signIn(await toSignIn()),
  );
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body));
  const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
  const me = await website.stranger.send({ url: '/console/api/me', headers: { cookie } });
  assert.equal(me.body.account_id, visitor.accountId);
  const { body } = await visitor.get('/console/api/passkeys');
  const [{ id, name, used_at }] = body.items;
  assert.deepEqual([id, name], [authenticator.id, 'Laptop']);
  assert.ok(used_at);
});

test('a recorded response signs nobody in again', async () => {
  const { authenticator } = await withPasskey();
  const response = authenticator.signIn(await toSignIn());
  const sent = await Promise.all(
    [1, 2, 3].map(() => website.stranger.write('/auth/passkey', response)),
  );
  assert.equal(sent.filter(({ status }) => status === 200).length, 1);
  assertError(await website.stranger.write('/auth/passkey', response), 'sign_in_failed');
});

test('a response needs a challenge of ours, in time, for this purpose and account', async () => {
  const { visitor, authenticator } = await withPasskey();
  const signIn = (challenge: string) =>
    website.stranger.write('/auth/passkey', authenticator.signIn(challenge));
  for (const challenge of ['invented', 'a\u0000b', await toAdd(visitor)]) {
    assertError(await signIn(challenge), 'sign_in_failed');
  }
  const late = await toSignIn();
  await setClock(301);
  assertError(await signIn(late), 'sign_in_failed');
  await setClock(0);
  const other = await website.signIn();
  const response = createAuthenticator(ORIGIN).register(await toAdd(other));
  const stolen = await visitor.write('/auth/passkeys', { name: 'Stolen', response });
  assertError(stolen, 'invalid_request', { field: 'response' });
});

test('a passkey of another site, another key and a copy of the key sign nobody in', async () => {
  const { visitor, authenticator } = await withPasskey();
  const signIn = (response: object) => website.stranger.write('/auth/passkey', response);
  const foreign = createAuthenticator('https://evil.example');
  const other = createAuthenticator(ORIGIN);
  for (const { id, signIn: respond } of [foreign, other]) {
    const unknown = respond(await toSignIn());
    assert.equal(unknown.id, id);
    assertError(await signIn(unknown), 'sign_in_failed');
    const swapped = { ...respond(await toSignIn()), id: authenticator.id, rawId: authenticator.id };
    assertError(await signIn(swapped), 'sign_in_failed');
  }
  const foreignNew = { name: 'x', response: foreign.register(await toAdd(visitor)) };
  assertError(await visitor.write('/auth/passkeys', foreignNew), 'invalid_request');
  assert.equal((await signIn(authenticator.signIn(await toSignIn(), 7))).status, 200);
  assertError(await signIn(authenticator.signIn(await toSignIn(), 7)), 'sign_in_failed');
});

test('a removed passkey and one of a disabled account sign nobody in', async () => {
  const { visitor, authenticator } = await withPasskey();
  const signIn = async () =>
    website.stranger.write('/auth/passkey', authenticator.signIn(await toSignIn()));
  await sql(db, 'update accounts set disabled_at = clock_now() where id = $1', [visitor.accountId]);
  assertError(await signIn(), 'account_disabled');
  await sql(db, 'update accounts set disabled_at = null where id = $1', [visitor.accountId]);
  await visitor.delete(`/console/api/passkeys/${authenticator.id}`);
  assertError(await signIn(), 'sign_in_failed');
});

test('only its owner can name and remove a passkey', async () => {
  const { visitor, authenticator } = await withPasskey();
  const other = await website.signIn();
  const url = `/console/api/passkeys/${authenticator.id}`;
  assertError(await other.write(url, { name: 'Mine now' }, 'PATCH'), 'not_found');
  assertError(await other.delete(url), 'not_found');
  assert.deepEqual((await other.get('/console/api/passkeys')).body.items, []);
  const name = '<script>alert(1)</script>';
  assert.equal((await visitor.write(url, { name }, 'PATCH')).status, 200);
  assert.equal((await visitor.get('/console/api/passkeys')).body.items[0].name, name);
  for (const wrong of ['', 'a\u0000b', 'x'.repeat(61), '\ud800']) {
    assertError(await visitor.write(url, { name: wrong }, 'PATCH'), 'invalid_request');
  }
  assert.equal((await visitor.delete(url)).status, 200);
  assertError(await visitor.delete(url), 'not_found');
});

test('browsers make no passkeys for an IP address, so none are offered', async () => {
  const local = await openTestWebsite({ publicUrl: () => 'http://127.0.0.1:8080' });
  const { body } = await local.stranger.get('/console/api/site');
  assert.equal(body.sign_in.passkeys, false);
  const headers = { origin: 'http://127.0.0.1:8080' };
  const request = { method: 'POST', url: '/auth/passkey/options', headers } as const;
  assertError(await local.stranger.send(request), 'sign_in_failed');
  const visitor = await local.signIn();
  const options = await visitor.send({ ...request, url: '/auth/passkeys/options' });
  assertError(options, 'invalid_request');
});

test('an account has twenty passkeys, however many were begun at a time', async () => {
  const visitor = await website.signIn();
  const begun = await Promise.all(Array.from({ length: 23 }, () => toAdd(visitor)));
  const sent = begun.map((challenge) => {
    const response = createAuthenticator(ORIGIN).register(challenge);
    return visitor.write('/auth/passkeys', { name: 'One of many', response });
  });
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 20);
  assert.equal(statuses.filter((status) => status === 400).length, 3);
});
