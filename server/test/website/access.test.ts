import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertOrder } from '../../src/billing/credit-order.ts';
import { setOffer } from '../../src/billing/offers.ts';
import { assertError } from '../envelope.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { addPasskey } from './authenticator.ts';
import { taskMaker } from './own-tasks.ts';
import { PACK } from './selling-website.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from './website.ts';

const website = await openTestWebsite();

/** Every route with its access; each `:id` is replaced. */
function routes(id = 'abc') {
  return website.routes.map(({ method, url, config }) => ({
    method: method as 'GET' | 'POST',
    isWrite: method !== 'GET',
    url: url.replaceAll(/:\w+/g, id),
    path: url,
    access: config?.access ?? 'session',
  }));
}

/** Sends a request that would be valid but for who sends it. */
function send(
  { method, url }: { method: 'GET' | 'POST'; url: string },
  headers: Record<string, string>,
) {
  if (method === 'GET') return website.stranger.send({ method, url, headers });
  const payload = JSON.stringify({ reason: 'a test', name: 'A name', email: 'a@b.example' });
  const json = { 'content-type': 'application/json', ...headers };
  return website.stranger.send({ method, url, payload, headers: json });
}

test('no route but the public ones takes a stranger, an API key or a forged cookie', async () => {
  const customer = await website.customer(10);
  const forged = { cookie: `framewright=${'A'.repeat(43)}` };
  let closed = 0;
  for (const route of routes()) {
    if (route.access === 'public') continue;
    closed += 1;
    const remoteAddress = `10.0.0.${closed}`;
    assertError(await send(route, {}), 'unauthorized');
    const authorization = await customer.authorization();
    assertError(await send(route, { authorization }), 'unauthorized');
    const { method, url } = route;
    if (method === 'GET') {
      const { statusCode } = await website.app.inject({ method: 'HEAD', url, headers: {} });
      assert.equal(statusCode, 401, `HEAD ${url}`);
    }
    const headers = { ...forged, authorization };
    assertError(
      await website.stranger.send({ method, url, remoteAddress, headers }),
      'unauthorized',
    );
  }
  assert.ok(closed >= 50, `only ${closed} routes`);
});

test('only public routes are public, and these', () => {
  const open = routes().filter(({ access }) => access === 'public');
  assert.deepEqual(open.map(({ method, path }) => `${method} ${path}`).sort(), [
    'GET /auth/return/:provider',
    'GET /auth/start/:provider',
    'GET /console/api/prices',
    'GET /console/api/set-up',
    'GET /console/api/site',
    'GET /console/api/verify',
    'GET /status.json',
    'POST /auth/code',
    'POST /auth/code/verify',
    'POST /auth/passkey',
    'POST /auth/passkey/options',
    'POST /console/api/reports',
    'POST /console/api/verify',
  ]);
});

test('no route that changes something takes a request of another site', async () => {
  const visitor = await website.signIn({ isOperator: true });
  const foreign = [
    { origin: 'null' },
    { origin: '' },
    { origin: `${ORIGIN}.evil.example` },
    { origin: ORIGIN.replace('http:', 'https:') },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  ];
  for (const route of routes().filter(({ isWrite }) => isWrite)) {
    for (const headers of foreign) {
      const response = await send(route, { cookie: visitor.cookie, ...headers });
      assertError(response, 'cross_site');
    }
  }
  for (const [site, status] of [
    ['cross-site', 403],
    ['same-site', 403],
    ['none', 403],
    [undefined, 403],
    ['same-origin', 200],
  ] as const) {
    const headers = { cookie: visitor.cookie, ...(site && { 'sec-fetch-site': site }) };
    const url = '/auth/sign-out';
    const { statusCode } = await website.app.inject({ method: 'POST', url, headers });
    assert.equal(statusCode, status, String(site));
  }
  const reader = await website.signIn();
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  assert.equal((await reader.send({ url: '/console/api/me', headers })).status, 200, 'a read');
});

const SHARE = { shows_prompt: false, days: null };
const BODIES = { keys: { name: 'Stolen' }, '/share': SHARE };

/** An account that has one of everything. @returns the ids */
async function everything(owner: TestVisitor): Promise<string[]> {
  const { db } = website.database;
  const { id: passkey } = await addPasskey(owner);
  const session = (await owner.get('/console/api/sessions')).body.items[0].id;
  const key = (await owner.get('/console/api/keys')).body.items[0].id;
  const upload = await owner.upload(await imageBytes('png', 96, 54));
  const make = taskMaker(website.deps);
  const poster = Buffer.from('a poster');
  const task = await make(owner.accountId, { ended: 'completed', poster });
  const share = await owner.write(`/console/api/tasks/${task}/share`, SHARE, 'PUT');
  const events = ['task.completed'];
  const webhook = await owner.write('/console/api/webhooks', { events });
  await setOffer(db, PACK);
  const order = 'ord_of_somebody';
  const offer = { ...PACK, active: true };
  const scope = { mode: 'test', account: null } as const;
  await insertOrder(db, { id: order, accountId: owner.accountId, kind: 'pack', offer, scope });
  return [passkey, session, key, upload.body.id, task, share.body.id, webhook.body.id, order].map(
    String,
  );
}

test('what belongs to an account does not exist for another one, on any route', async () => {
  const owner = await website.signIn({ credits: 1000 });
  const ids = await everything(owner);
  const found = async (visitor: TestVisitor, onlyReads: boolean) => {
    const paths = new Set<string>();
    for (const id of ids) {
      for (const route of routes(id)) {
        if (!route.path.includes(':') || route.path.startsWith('/auth/')) continue;
        if (route.access === 'operator' || (onlyReads && route.isWrite)) continue;
        const { cookie } = visitor;
        const headers = { origin: ORIGIN, cookie };
        const given = Object.entries(BODIES).find(([part]) => route.path.includes(part))?.[1];
        const payload = JSON.stringify(given ?? {});
        const json = { ...headers, 'content-type': 'application/json' };
        const { statusCode: status, body } = await website.app.inject({
          method: route.method,
          url: route.url,
          headers: route.isWrite ? json : headers,
          ...(route.isWrite && { payload }),
        });
        const isMissing = status === 404 || (status === 400 && /"id"|"body"|"name"/.test(body));
        if (!isMissing) paths.add(`${route.method} ${route.path} ${status}`);
      }
    }
    return [...paths].sort();
  };
  const other = await website.signIn({ credits: 1000 });
  assert.deepEqual(await found(other, false), []);
  const own = await found(owner, true);
  assert.deepEqual(own, [
    'GET /console/api/keys/:id/requests 200',
    'GET /console/api/orders/:id 200',
    'GET /console/api/tasks/:id 200',
    'GET /console/api/tasks/:id/file 200',
    'GET /console/api/tasks/:id/poster 200',
    'GET /console/api/uploads/:id 200',
    'GET /console/api/uploads/:id/file 200',
    'GET /console/api/webhooks/:id 200',
    'GET /console/api/webhooks/:id/deliveries 200',
  ]);
  const lists = [
    'tasks',
    'task-filters',
    'shares',
    'keys',
    'orders',
    'statement',
    'sessions',
    'webhooks',
  ];
  for (const list of lists) {
    const text = JSON.stringify((await other.get(`/console/api/${list}`)).body);
    assert.ok(!ids.some((id) => text.includes(id)), list);
  }
  assert.deepEqual((await other.get('/console/api/usage')).body.rows, []);
  const csv = await other.get('/console/api/usage.csv');
  assert.equal(csv.body.trim().split('\n').length, 1);
});
