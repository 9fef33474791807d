import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Type } from 'typebox';
import { openTestApp, type ParsedResponse, parseResponse } from '../../../test/app.ts';
import { makeCustomer } from '../../../test/customer.ts';
import { assertError } from '../../../test/envelope.ts';
import { type Database, statement } from '../../database/database.ts';
import { createApp } from '../app.ts';
import { callerOf, endpoint } from './endpoint.ts';
import { publicApi } from './public-api.ts';

const LIST = statement(
  'test_list_tasks',
  `select id from tasks where account_id = $1 and surface = $2 order by created_at limit $3`,
);

/** An endpoint that returns several rows. The plugin does its authentication and rate limit. */
const listTasks = endpoint<{ db: Database }, { Querystring: { limit: number } }>('GET /tasks', {
  querystring: Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }) }),
  serve: ({ db }) => ({
    handler: async (request) => {
      const { accountId, surface } = callerOf(request);
      return { tasks: await db.query(LIST, [accountId, surface, request.query.limit]) };
    },
  }),
});

const tested = await openTestApp();
const app = await createApp(tested.deps);
await app.register(publicApi, { prefix: '/list', deps: tested.deps, endpoints: [listTasks] });
after(async () => {
  await app.close();
  await tested.close();
});

async function list(authorization?: string): Promise<ParsedResponse> {
  const headers = authorization === undefined ? {} : { authorization };
  return parseResponse(await app.inject({ url: '/list/tasks', headers }));
}

test('an endpoint without an admission of its own requires an API key', async () => {
  assertError(await list(), 'unauthorized');
  assertError(await list('Bearer junk'), 'unauthorized');
});

test('an endpoint without an admission of its own has the rate limit', async () => {
  const { secret } = await makeCustomer(tested.database.db, 0);
  for (let count = 0; count < 30; count += 1) {
    assert.equal((await list(`Bearer ${secret}`)).status, 200);
  }
  assertError(await list(`Bearer ${secret}`), 'rate_limited');
});

test('a list endpoint returns only the rows of its caller', async () => {
  const [first, second, third] = await Promise.all([
    tested.customer(1000),
    tested.customer(1000),
    tested.customer(0),
  ]);
  const prompts = ['one', 'two', 'three'];
  const own: string[] = [];
  for (const prompt of prompts) own.push((await first.create({ prompt })).body.id);
  await second.create({ prompt: 'of another account' });
  const { status, body } = await list(await first.authorization());
  assert.equal(status, 200);
  assert.deepEqual(
    body.tasks.map(({ id }: { id: string }) => id),
    own,
  );
  assert.deepEqual((await list(await third.authorization())).body, { tasks: [] });
});
