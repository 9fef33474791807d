import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { quiet } from '../../test/database.ts';
import { startWebhookReceiver } from '../../test/service/webhook-receiver.ts';
import { openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import { createGuardedFetch } from '../outbound/guarded-fetch.ts';
import { claimEndpoints, releaseEndpoint, SLOW_MS } from './claim.ts';
import { type DeliverDeps, startWebhooks } from './deliver.ts';
import { createEndpoint } from './endpoints.ts';
import { sendTest } from './log.ts';
import { createThrottle } from './throttle.ts';

const ALL = { sound: 32, slow: 32, failing: 16 };

/** Requests to `/slow` that have no response yet. */
const hanging: ServerResponse[] = [];
let quick = 0;
const fixture = await openTaskFixture('audited');
const { db } = fixture;
const receiver = await startWebhookReceiver((response) => {
  if (response.req.url === '/slow') hanging.push(response);
  else {
    quick += 1;
    response.writeHead(204).end();
  }
});
after(() => receiver.close());

/** Endpoints of a new account, each with one event. */
async function customerWith(count: number, path: 'slow' | 'quick'): Promise<string[]> {
  const { accountId } = await makeCustomer(db, 0);
  const owner = { accountId, mode: 'live', by: 'a test' } as const;
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) {
    const choice = {
      url: `http://${receiver.host}/${path}`,
      description: null,
      events: ['task.failed' as const],
    };
    const { id } = await createEndpoint(db, owner, choice);
    await sendTest(db, owner, id);
    ids.push(id);
  }
  return ids;
}

test('slow endpoints of some customers do not delay the events of others', async () => {
  const stopping = new AbortController();
  const fetch = createGuardedFetch({ allow: new Set([receiver.host]) });
  const deps: DeliverDeps = {
    db,
    log: quiet,
    outbound: fetch,
    taskOf: async () => undefined,
    publicUrl: () => 'https://video.example',
  };
  const slow: string[] = [];
  for (let customer = 0; customer < 8; customer += 1) slow.push(...(await customerWith(4, 'slow')));
  const { claim, settle } = startWebhooks(deps, stopping.signal);
  await until(async () => hanging.length === slow.length);
  const allHangSince = performance.now();
  await customerWith(1, 'quick');
  claim();
  const waiting = () => sql(db, `select from webhook_deliveries where state = 'waiting'`);
  // 10 seconds: a slow try ends by itself after 15.
  await until(async () => quick === 1, Boolean, 10);
  assert.equal(hanging.length, slow.length, 'none of them has got a response');
  await until(async () => performance.now() - allHangSince > SLOW_MS);
  for (const response of hanging.splice(0)) response.writeHead(204).end();
  await until(waiting, (rows) => rows.length === 0);
  stopping.abort();
  await settle(10);
  await fetch.close();
  await sql(db, 'update webhook_deliveries set due_at = clock_now()');
  const sound = await claimEndpoints(db, { ...ALL, slow: 0 });
  assert.equal(sound.length, 1, 'the slow ones get slow slots from now on');
  const rest = await claimEndpoints(db, { ...ALL, sound: 0 });
  assert.deepEqual(rest.map(({ id }) => id).sort(), slow.sort());
});

test('the deliveries of a process begin at a bounded rate, and in order', async () => {
  const throttle = createThrottle(() => false);
  const { signal } = new AbortController();
  const startedAt = performance.now();
  const begun: number[] = [];
  const waits = [40, 8, 8, 8].map((deliveries, i) =>
    throttle.begin(deliveries, signal).then(() => begun.push(i)),
  );
  assert.equal(throttle.isBehind(), false);
  await Promise.all(waits);
  assert.deepEqual(begun, [0, 1, 2, 3]);
  assert.ok(performance.now() - startedAt > 500, '56 before the last ones, at 100 a second');
  void throttle.begin(200, signal);
  assert.equal(throttle.isBehind(), true);
  const busy = createThrottle(() => true);
  assert.equal(busy.atOnce(), 2);
  void busy.begin(30, signal);
  assert.equal(busy.isBehind(), true, '20 a second');
});

test('each customer gets a slot before any gets a second one', async () => {
  await sql(db, 'update webhook_endpoints set deleted_at = clock_now()');
  const earlier = await customerWith(4, 'quick');
  const later = await customerWith(2, 'quick');
  const claim = async (sound: number) =>
    (await claimEndpoints(db, { sound, slow: 0, failing: 0 })).map(({ id }) => id);
  const first = [earlier[0] ?? '', later[0] ?? ''];
  assert.deepEqual((await claim(2)).sort(), first.sort());
  await releaseEndpoint(db, later[0] ?? '');
  assert.deepEqual(await claim(1), [later[0]], 'the account without a leased endpoint is first');
});
