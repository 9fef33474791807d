import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { openTestWebsite, type TestWebsite } from '../../../test/website/website.ts';

let website: TestWebsite;

before(async () => {
  website = await openTestWebsite();
});
after(() => website.close());

test('who signs out is signed out at the next request, and the cookie is deleted', async () => {
  const visitor = await website.signIn();
  const { status, headers } = await visitor.write('/auth/sign-out');
  assert.equal(status, 200);
  assert.match(String(headers['set-cookie']), /^framewright=; Path=\/; HttpOnly; .*Max-Age=0$/);
  assertError(await visitor.get('/console/api/me'), 'unauthorized');
});

test('another site can sign nobody out', async () => {
  const visitor = await website.signIn();
  const crossSite = { method: 'POST', url: '/auth/sign-out' } as const;
  for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }]) {
    assertError(await visitor.send({ ...crossSite, headers }), 'cross_site');
  }
  assert.equal((await visitor.get('/console/api/me')).status, 200);
});
