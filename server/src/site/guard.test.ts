import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { type FastifyInstance, fastify } from 'fastify';
import { quiet } from '../../test/database.ts';
import { assertError } from '../../test/envelope.ts';
import { sql } from '../../test/task-fixtures.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from '../../test/website/website.ts';
import type { Database } from '../database/database.ts';
import { createApp } from '../http/app.ts';
import { newId } from '../kernel/ids.ts';
import { handleError } from '../requests/errors.ts';
import { guard } from './guard.ts';

const ME = '/console/api/me';

const website = await openTestWebsite();
const { db, setClock } = website.database;
const visitor = await website.signIn({ credits: 40 });

test('an address of ADMIN_EMAILS is an operator, whatever its case', async () => {
  const operator = await website.signIn({ isOperator: true });
  await sql(db, 'update accounts set email = upper(email) where id = $1', [operator.accountId]);
  assert.equal((await operator.get(ME)).body.is_operator, true);
});

test('the public API does not know the cookie', async () => {
  assertError(await visitor.get('/api/v1/credits'), 'unauthorized');
});

test('a session ends when unused for two weeks, with its account, and after 90 days', async () => {
  const ends = async (visitor: TestVisitor) => assertError(await visitor.get(ME), 'unauthorized');
  const idle = await website.signIn();
  const update = `update sessions set seen_at = seen_at - interval '15 days' where account_id = $1`;
  await sql(db, update, [idle.accountId]);
  await ends(idle);
  const disabled = await website.signIn();
  const disable = 'update accounts set disabled_at = clock_now() where id = $1';
  await sql(db, disable, [disabled.accountId]);
  await ends(disabled);
  const old = await website.signIn();
  for (let day = 0; day < 89; day += 10) {
    await setClock(day * 86_400);
    assert.equal((await old.get(ME)).status, 200, `day ${day}`);
  }
  await setClock(91 * 86_400);
  await ends(old);
  await setClock(0);
});

test('requests count for the address that a trusted proxy names', async () => {
  const send = async (trusts: boolean, address: string) => {
    const app = await openProxied(trusts);
    await app.inject({ url: '/console/api/site', headers: { 'x-forwarded-for': address } });
  };
  for (const trusts of [true, false]) {
    await send(trusts, '198.51.100.7');
    await send(trusts, 'invented, 198.51.100.8');
  }
  const select = `select subject from request_windows where subject like 'ip:%' order by subject`;
  const rows = await sql<{ subject: string }>(db, select);
  const keys = rows.map(({ subject }) => subject);
  const counted = keys.filter((key) => key.startsWith('ip:198'));
  assert.deepEqual(counted, ['ip:198.51.100.7', 'ip:198.51.100.8']);
});

/** The guard of another process before two routes, and the statements that it sends. */
async function openCounted() {
  const sent: string[] = [];
  const running = { now: 0, most: 0 };
  const query: Database['query'] = async (...given) => {
    sent.push(given[0].name);
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    try {
      return await db.query(...given);
    } finally {
      running.now -= 1;
    }
  };
  const counted: Database = Object.create(db, { query: { value: query } });
  const app = fastify({ genReqId: () => newId('request') });
  proxied.push(app);
  app.setErrorHandler((error: Error, request, reply) =>
    handleError(error, { request, reply, log: quiet }),
  );
  guard(app, { db: counted, publicUrl: () => ORIGIN, adminEmails: new Set() });
  app.get('/console/api/site', { config: { access: 'public' } }, async () => ({}));
  app.get(ME, async () => ({}));
  return {
    running,
    /** The statuses of requests at once, and how many statements they needed. */
    async flood(url: string, count: number, headers: () => Record<string, string> = () => ({})) {
      sent.length = 0;
      const remoteAddress = '198.51.100.20';
      const responses = await Promise.all(
        Array.from({ length: count }, () => app.inject({ url, remoteAddress, headers: headers() })),
      );
      const refused = responses.filter(({ statusCode }) => statusCode === 429);
      return { refused: refused.length, statements: sent.length, last: responses.at(-1) };
    },
  };
}

test('what is over the limit of an address or a session is refused from memory', async () => {
  const { flood } = await openCounted();
  const full = await flood('/console/api/site', 300);
  assert.equal(full.refused, 60);
  assert.ok(full.statements > 240 && full.statements <= 246, `${full.statements} statements`);
  const more = await flood('/console/api/site', 500);
  assert.equal(more.refused, 500);
  assert.ok(more.statements <= 10, `${more.statements} statements`);
  const wait = Number(more.last?.headers['retry-after']);
  assert.ok(wait > 0 && wait <= 60, `${wait} s`);
  assert.match(more.last?.json().error.message, new RegExp(`Try again in ${wait} s`));
  const { cookie } = await website.signIn();
  const own = await flood(ME, 300, () => ({ cookie }));
  assert.equal(own.refused, 60, 'an address over its limit does not keep people out');
  const again = await flood(ME, 500, () => ({ cookie }));
  assert.equal(again.refused, 500);
  assert.ok(again.statements <= 10, `${again.statements} statements`);
});

test('invented cookies of one address are looked up one after the other', async () => {
  const { flood, running } = await openCounted();
  const invented = () => ({ cookie: `framewright=${randomBytes(32).toString('base64url')}` });
  const { refused } = await flood(ME, 260, invented);
  assert.ok(refused >= 20);
  assert.equal(running.most, 2, 'one look-up, and one count');
});

const proxied: FastifyInstance[] = [];
after(() => Promise.all(proxied.map((app) => app.close())));

/** The same website behind a proxy. */
async function openProxied(isTrusted: boolean): Promise<FastifyInstance> {
  const trustedProxies = isTrusted ? '127.0.0.1' : undefined;
  const app = await createApp({ ...website.deps, trustedProxies });
  proxied.push(app);
  return app;
}

/** Requests that are costly for the database, the disk or Stripe, and their limits. */
const COSTLY: Array<['GET' | 'POST' | 'PUT', string, number]> = [
  ['POST', '/console/api/keys', 100],
  ['GET', '/console/api/usage', 30],
  ['GET', '/console/api/usage.csv', 30],
  ['GET', '/console/api/statement', 60],
  ['GET', '/console/api/statement.csv', 10],
  ['GET', '/console/api/uploads/obj_1/file', 60],
  ['POST', '/console/api/orders', 30],
  ['POST', '/console/api/subscription', 20],
  ['POST', '/console/api/subscription/settle', 20],
  ['POST', '/console/api/portal', 20],
  ['PUT', '/console/api/auto-reload', 20],
  ['PUT', '/console/api/low-balance', 20],
];

test('costly requests have limits per account, besides the one for all requests', async () => {
  const other = await website.signIn();
  for (const [method, url, max] of COSTLY) {
    const busy = await website.signIn();
    const send = async (by: TestVisitor) =>
      (await (method === 'GET' ? by.get(url) : by.write(url, {}, method))).status;
    const sent = await Promise.all(Array.from({ length: max + 1 }, () => send(busy)));
    assert.equal(sent.filter((status) => status === 429).length, 1, url);
    assert.equal((await busy.get(ME)).status, 200);
    assert.notEqual(await send(other), 429);
  }
});
