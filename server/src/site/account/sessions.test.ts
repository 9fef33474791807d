import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { openTestWebsite } from '../../../test/website/website.ts';
import { beginSession } from '../../sign-in/sessions.ts';

const SESSIONS = '/console/api/sessions';

const website = await openTestWebsite();
after(() => website.close());

test('an account sees where it is signed in, and no token', async () => {
  const visitor = await website.signIn();
  const from = { method: 'passkey', network: '203.0.113.0/24', browser: 'Firefox on Linux' };
  await beginSession(website.database.db, visitor.accountId, from);
  const { body } = await visitor.get(SESSIONS);
  assert.equal(body.items.length, 2);
  const other = body.items.find((item: { is_current: boolean }) => !item.is_current);
  assert.ok(body.items.some((item: { is_current: boolean }) => item.is_current));
  assert.partialDeepStrictEqual(other, { ...from, is_current: false });
  assert.ok(Date.parse(other.created_at) <= Date.parse(other.seen_at));
  const members = 'browser created_at expires_at id is_current method network seen_at';
  assert.equal(Object.keys(other).sort().join(' '), members);
});

test('a session that is ended elsewhere is refused at its next request', async () => {
  const visitor = await website.signIn();
  const from = { method: 'code', network: null, browser: null };
  const token = await beginSession(website.database.db, visitor.accountId, from);
  const { body } = await visitor.get(SESSIONS);
  const other = body.items.find((item: { is_current: boolean }) => !item.is_current);
  assert.equal((await visitor.delete(`${SESSIONS}/${other.id}`)).status, 200);
  const headers = { cookie: `framewright=${token}` };
  assertError(await website.stranger.send({ url: SESSIONS, headers }), 'unauthorized');
  assertError(await visitor.delete(`${SESSIONS}/${other.id}`), 'not_found');
  assert.equal((await visitor.get(SESSIONS)).body.items.length, 1);
});

test('a session is marked as used at most once an hour', async () => {
  const visitor = await website.signIn();
  const seenAt = async () => (await visitor.get(SESSIONS)).body.items[0].seen_at;
  const first = await seenAt();
  await website.database.setClock(3000);
  assert.equal(await seenAt(), first);
  await website.database.setClock(3700);
  await seenAt();
  assert.notEqual(await seenAt(), first);
  await website.database.setClock(0);
});

test('of more than fifty sessions the oldest end', async () => {
  const visitor = await website.signIn();
  const from = { method: 'code', network: null, browser: null };
  for (let i = 0; i < 50; i += 1) {
    await beginSession(website.database.db, visitor.accountId, from);
  }
  assertError(await visitor.get(SESSIONS), 'unauthorized');
});

test('the requests of one account are limited, over all its sessions', async () => {
  const visitor = await website.signIn();
  await sql(
    website.database.db,
    `insert into request_windows (subject, hits)
     select 'web:' || $1, array_agg(clock_now()) from generate_series(1, 236)`,
    [visitor.accountId],
  );
  const sent = await Promise.all(Array.from({ length: 10 }, () => visitor.get(SESSIONS)));
  assert.equal(sent.filter(({ status }) => status === 200).length, 4);
  for (const refused of sent.filter(({ status }) => status !== 200)) {
    assertError(refused, 'rate_limited');
  }
});

test('who signs out is signed out at the next request, and the cookie is deleted', async () => {
  const visitor = await website.signIn();
  const { status, headers } = await visitor.write('/auth/sign-out');
  assert.equal(status, 200);
  assert.match(String(headers['set-cookie']), /^framewright=; Path=\/; HttpOnly; .*Max-Age=0$/);
  assertError(await visitor.get('/console/api/me'), 'unauthorized');
});
