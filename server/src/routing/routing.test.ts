import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { requestOf } from '../../test/requests.ts';
import { scriptedProvider, sql } from '../../test/task-fixtures.ts';
import type { HostedProvider } from '../providers/provider.ts';
import type { RouteStep } from './route.ts';
import { createRouting } from './routing.ts';
import { deleteRoute, type StoredRoute, saveRoute } from './stored-routes.ts';
import { saveTerms } from './terms.ts';

const database = await openTestDatabase();
const { db } = database;

const REQUEST = requestOf({ prompt: 'a lighthouse at dawn', model: 'video-2.0' });

/** Serves a model under an id of its `app/`, or if the route names no id. */
const canServe: NonNullable<HostedProvider['canServe']> = (_, id) => id?.startsWith('app/') ?? true;

/** Stores a route of video-2.0, by order if nothing else is given. */
function save(
  steps: RouteStep[],
  { choice = 'order', retry_failed = false }: Partial<StoredRoute> = {},
): Promise<boolean> {
  return db.transaction((tx) => saveRoute(tx, { model: 'video-2.0', choice, steps, retry_failed }));
}

async function routingWith(
  defaultConnection: string,
  names: string[],
  given: Partial<Parameters<typeof createRouting>[0]> = {},
) {
  const provider = (name: string): HostedProvider => ({
    ...scriptedProvider({}),
    name,
    canServe,
  });
  const providers = new Map(names.map((name) => [name, provider(name)]));
  const readTimes = async () => [];
  const deps = { db, log: quiet, providers, defaultConnection, readTimes, ...given };
  const routing = createRouting(deps);
  await routing.follow(AbortSignal.abort());
  return routing;
}

test('a task of a model without a route stays with its connection, whatever PROVIDER is now', async () => {
  const routing = await routingWith('new', ['old', 'new']);
  assert.deepEqual(routing.connectionsFor(REQUEST), [{ connection: 'new' }]);
  assert.equal(routing.next(REQUEST, ['old']), undefined);
});

test('the next connection comes from the current route; without a route, a task stays where it is', async () => {
  const steps = [{ connection: 'a', share: 50 }, { connection: 'gone' }, { connection: 'b' }];
  await save(steps);
  const routing = await routingWith('old', ['old', 'a', 'b']);
  assert.equal(routing.next(REQUEST, ['old'])?.connection, 'b');
  assert.deepEqual(routing.usualConnectionsFor(REQUEST), ['b'], 'without its canary');
  assert.equal(routing.next(REQUEST, ['a'])?.connection, 'b');
  assert.equal(
    routing.next(REQUEST, ['b']),
    undefined,
    'a canary takes only tasks that begin there',
  );
  await db.transaction((tx) => deleteRoute(tx, 'video-2.0'));
  const without = await routingWith('old', ['old', 'a', 'b']);
  assert.equal(without.next(REQUEST, ['a']), undefined);
});

test('a route says whether failed jobs are tried again; without one, they are not', async () => {
  assert.ok(
    await save([{ connection: 'a' }], { retry_failed: true }),
    'it is a change of the route',
  );
  const routing = await routingWith('a', ['a']);
  assert.deepEqual(['video-2.0', 'another'].map(routing.retriesFailed), [true, false]);
  await db.transaction((tx) => deleteRoute(tx, 'video-2.0'));
});

test('a model id of the route that the connection can’t serve is not sent', async () => {
  const modelIdBy = async (modelId: string) => {
    const steps = [{ connection: 'a', model_id: modelId }, { connection: 'b' }];
    await save(steps);
    return (await routingWith('a', ['a', 'b'])).modelIdOf(REQUEST, 'a');
  };
  assert.equal(await modelIdBy('app/pro'), 'app/pro');
  assert.equal(await modelIdBy('other-app/pro'), undefined);
});

const A_AND_B = [{ connection: 'a' }, { connection: 'b' }];

test('a route by price follows the terms that hold now, with reference videos too', async () => {
  const newTerms: Parameters<typeof saveTerms>[1] = {
    connection: 'a',
    model: 'video-2.0',
    resolution: '720p',
    per: 'output-second',
    price: '0.07',
    reference_price: '0.01',
    currency: 'usd',
    from: undefined,
  };
  const byTime: typeof newTerms = { ...newTerms, per: 'compute-second', reference_price: null };
  const tomorrow = new Date(Date.now() + 86_400_000);
  for (const one of [
    newTerms,
    { ...newTerms, connection: 'b', price: '0.06', reference_price: null },
    { ...newTerms, price: '0.01', from: tomorrow },
    { ...newTerms, connection: 'b', price: '9', resolution: '4k' },
    { ...byTime, resolution: '4k' },
  ]) {
    await db.transaction((tx) => saveTerms(tx, one));
  }
  await save(A_AND_B, { choice: 'price' });
  const routing = await routingWith('a', ['a', 'b']);
  const reasons = (changes: object) =>
    routing.connectionsFor({ ...REQUEST, ...changes }).map(({ reason }) => reason);
  assert.deepEqual(reasons({ duration: 6 }), ['price: 0.36 USD at b', 'price: 0.42 USD at a']);
  assert.deepEqual(reasons({ duration: 6, reference_video_durations: [3, 3] }), [
    'price: 0.12 USD at a',
    'price: 0.36 USD at b',
  ]);
  assert.deepEqual(reasons({ resolution: '4k' }), ['price: 45 USD at b', 'price: unknown at a']);
  assert.equal(routing.next({ ...REQUEST, duration: 6 }, ['b'])?.reason, 'price: 0.42 USD at a');
});

test('a route by time follows the times of jobs of its model and resolution, and explores', async () => {
  await save(A_AND_B, { choice: 'time' });
  const kind = { model: 'video-2.0', resolution: '720p' };
  const times = [
    { ...kind, connection: 'a', seconds: 90 },
    { ...kind, connection: 'b', seconds: 48 },
    { ...kind, connection: 'a', resolution: '4k', seconds: 1 },
  ];
  let draw = 0.5;
  const given = { readTimes: async () => times, random: () => draw };
  const routing = await routingWith('a', ['a', 'b'], given);
  const reasons = () => routing.connectionsFor(REQUEST).map(({ reason }) => reason);
  assert.deepEqual(reasons(), ['time: p50 48 s at b', 'time: p50 90 s at a']);
  draw = 0;
  assert.deepEqual(reasons(), ['time: p50 90 s at a, explored', 'time: p50 48 s at b']);
  assert.equal(routing.next(REQUEST, [])?.connection, 'b', 'only creates explore');
});

test('a choice that only a newer version knows counts as `order`, and is logged once', async () => {
  await sql(db, 'alter table routes drop constraint routes_choice_check');
  await save(A_AND_B, { choice: 'order' });
  await sql(db, `update routes set choice = 'by moonlight'`);
  const { log, lines } = recordingLog();
  const routing = await routingWith('a', ['a', 'b'], { log });
  await routing.follow(AbortSignal.abort());
  assert.deepEqual(routing.connectionsFor(REQUEST), A_AND_B);
  assert.equal(lines.length, 1);
  assert.match(lines.join(), /by moonlight/);
});
