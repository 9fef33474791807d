import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { addPasskey, createAuthenticator } from '../../../test/website/authenticator.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';

const website = await openTestWebsite();
after(() => website.close());

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

test('a challenge of ours, in time, for this purpose and account, is needed', async () => {
  const { visitor, authenticator } = await withPasskey();
  const signIn = (challenge: string) =>
    website.stranger.write('/auth/passkey', authenticator.signIn(challenge));
  for (const challenge of ['invented', 'a\u0000b', await toAdd(visitor)]) {
    assertError(await signIn(challenge), 'sign_in_failed');
  }
  const late = await toSignIn();
  await website.database.setClock(301);
  assertError(await signIn(late), 'sign_in_failed');
  await website.database.setClock(0);
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
  await sql(website.database.db, 'update accounts set disabled_at = clock_now() where id = $1', [
    visitor.accountId,
  ]);
  assertError(await signIn(), 'account_disabled');
  await sql(website.database.db, 'update accounts set disabled_at = null where id = $1', [
    visitor.accountId,
  ]);
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

test('what is no passkey at all is refused', async () => {
  const visitor = await website.signIn();
  const garbage = { id: 'abc', rawId: 'abc', type: 'public-key', response: { signature: 7 } };
  assertError(await website.stranger.write('/auth/passkey', garbage), 'sign_in_failed');
  const { authenticator } = await withPasskey();
  const broken = { ...garbage, id: authenticator.id, rawId: authenticator.id };
  assertError(await website.stranger.write('/auth/passkey', broken), 'sign_in_failed');
  const added = await visitor.write('/auth/passkeys', { name: 'x', response: garbage });
  assertError(added, 'invalid_request');
  assertError(await website.stranger.write('/auth/passkey', {}), 'invalid_request');
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
  await local.close();
});

test('odd transports are left out, and an id that is too long is refused', async () => {
  const visitor = await website.signIn();
  for (const transports of ['usb', [{}], [['usb'], ['nfc', 'ble']], [null, 'usb'], 7]) {
    const made = createAuthenticator(ORIGIN).register(await toAdd(visitor));
    const response = { ...made, response: { ...Object(made).response, transports } };
    const added = await visitor.write('/auth/passkeys', { name: 'Odd', response });
    assert.equal(added.status, 200, JSON.stringify(added.body));
  }
  const long = createAuthenticator(ORIGIN, { idBytes: 9000 }).register(await toAdd(visitor));
  const response = { ...long, id: 'short', rawId: 'short' };
  const refused = await visitor.write('/auth/passkeys', { name: 'Long', response });
  assertError(refused, 'invalid_request', { field: 'response' });
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
