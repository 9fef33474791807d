import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestDatabase, quiet } from '../../test/database.ts';
import { requestOf } from '../../test/requests.ts';
import { scriptedProvider } from '../../test/task-fixtures.ts';
import type { HostedProvider } from '../providers/provider.ts';
import { createRouting } from './routing.ts';
import { deleteRoute, saveRoute } from './stored-routes.ts';

const database = await createTestDatabase();
const { db } = database;
after(() => database.close());

const REQUEST = requestOf({ prompt: 'a lighthouse at dawn', model: 'video-2.0' });

/** Can make videos with its own id of the model, and with those of its app. */
const canServe: NonNullable<HostedProvider['canServe']> = (_, id) => id?.startsWith('app/') ?? true;

async function routingWith(defaultConnection: string, names: string[]) {
  const provider = (name: string): HostedProvider => ({
    ...scriptedProvider({}),
    name,
    canServe,
  });
  const providers = new Map(names.map((name) => [name, provider(name)]));
  const routing = createRouting({ db, log: quiet, providers, defaultConnection });
  await routing.follow(AbortSignal.abort());
  return routing;
}

test('a task of a model without a route stays with its connection, whatever PROVIDER is now', async () => {
  const routing = await routingWith('new', ['old', 'new']);
  assert.deepEqual(routing.connectionsFor(REQUEST), ['new']);
  assert.equal(routing.next(REQUEST, ['old']), undefined);
});

test('a task goes on by the route as it is now, and stays where it is without one', async () => {
  const steps = [{ connection: 'a', share: 50 }, { connection: 'gone' }, { connection: 'b' }];
  await db.transaction((tx) => saveRoute(tx, { model: 'video-2.0', choice: 'order', steps }));
  const routing = await routingWith('old', ['old', 'a', 'b']);
  assert.equal(routing.next(REQUEST, ['old']), 'b');
  assert.deepEqual(routing.usualConnectionsFor(REQUEST), ['b'], 'without its canary');
  assert.equal(routing.next(REQUEST, ['a']), 'b');
  assert.equal(
    routing.next(REQUEST, ['b']),
    undefined,
    'a canary takes only tasks that begin there',
  );
  await db.transaction((tx) => deleteRoute(tx, 'video-2.0'));
  const without = await routingWith('old', ['old', 'a', 'b']);
  assert.equal(without.next(REQUEST, ['a']), undefined);
});

test('an id of the model that the connection can’t serve is not sent, whenever the route was changed', async () => {
  const modelIdBy = async (modelId: string) => {
    const steps = [{ connection: 'a', model_id: modelId }, { connection: 'b' }];
    await db.transaction((tx) => saveRoute(tx, { model: 'video-2.0', choice: 'order', steps }));
    return (await routingWith('a', ['a', 'b'])).modelIdOf(REQUEST, 'a');
  };
  assert.equal(await modelIdBy('app/pro'), 'app/pro');
  assert.equal(await modelIdBy('other-app/pro'), undefined);
});
