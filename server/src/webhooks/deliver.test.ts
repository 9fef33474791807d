import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, beforeEach, test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { startWebhookReceiver } from '../../test/service/webhook-receiver.ts';
import { claimTask, makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { createGuardedFetch } from '../outbound/guarded-fetch.ts';
import { moveNow } from '../tasks/transitions.ts';
import { findDueWork } from '../worker/claim.ts';
import { claimEndpoints } from './claim.ts';
import { deliverDue } from './deliver.ts';
import {
  type ActingOwner,
  createEndpoint,
  deleteEndpoint,
  type EndpointChange,
  type EndpointWithSecret,
  readEndpoint,
  replaceSecret,
  updateEndpoint,
} from './endpoints.ts';
import { EVENT_TYPES, recordEvent } from './events.ts';
import { listDeliveries, purgeDeliveries, sendAgain, sendTest } from './log.ts';
import { mailOwners } from './notices.ts';
import { RETRY_SECONDS } from './outcome.ts';
import { createThrottle } from './throttle.ts';

/** How the receiver responds. */
let respond: (response: ServerResponse) => void;

const fixture = await openTaskFixture('audited');
const { db } = fixture;
const receiver = await startWebhookReceiver((response) => respond(response));
const { received } = receiver;
const url = `${receiver.url}?from=test`;
const allow = new Set([receiver.host]);
const outbound = createGuardedFetch({ allow, ports: [[1, 443]] });
const deps = {
  db,
  log: quiet,
  outbound,
  taskOf: async ({ id }: { id: string }): Promise<object> => ({ id, status: 'shown' }),
  publicUrl: () => 'https://video.example',
  throttle: createThrottle(() => false),
};
after(async () => {
  await outbound.close();
  await receiver.close();
});
beforeEach(async () => {
  received.length = 0;
  await mails();
  respond = responding(204);
  await fixture.database.setClock(0);
  await sql(db, 'update webhook_endpoints set deleted_at = clock_now()');
});

/** The mails to owners since the last call. */
async function mails() {
  await mailOwners(deps);
  const remove = 'delete from mails returning account_id, subject, text';
  return sql<{ account_id: string; subject: string; text: string }>(db, remove);
}

type Owned = EndpointWithSecret & { owner: ActingOwner & { mode: 'live' } };

async function openEndpoint(accountId: string, to: string | null = url): Promise<Owned> {
  const owner = { accountId, mode: 'live', by: 'a test' } as const;
  const choice = { url: to, description: null, events: [...EVENT_TYPES] };
  return { ...(await createEndpoint(db, owner, choice)), owner };
}

const FAILED = {
  to: 'failed',
  changes: { error: { code: 'provider_failed', message: 'It failed.' } },
} as const;

const change = ({ owner, id }: Owned, to: EndpointChange) => updateEndpoint(db, owner, id, to);
const stateOf = ({ owner, id }: Owned) => readEndpoint(db, owner, id);
const testEvent = ({ owner, id }: Owned) => sendTest(db, owner, id);
const responding = (status: number, body?: string) => (response: ServerResponse) =>
  void response.writeHead(status).end(body);

/** A task that failed, whose account has an endpoint. */
async function failedTask(to: string | null = url) {
  const { task } = await makeTask(fixture);
  const endpoint = await openEndpoint(task.account_id, to);
  await moveNow(db, await claimTask(db, task.id), FAILED);
  return { task, endpoint };
}

const claim = () => claimEndpoints(db, { sound: 32, slow: 32, failing: 16 });

/** What a process does twice a second. */
async function deliver(): Promise<void> {
  const endpoints = await claim();
  const { signal } = new AbortController();
  await Promise.all(endpoints.map((endpoint) => deliverDue(deps, endpoint, signal)));
}

async function logOf({ owner, id }: Owned) {
  const page = { endpointId: id, before: null, limit: 100 };
  return (await listDeliveries(db, owner, page)).data;
}

test('no event is written for a move that did not happen, or to an endpoint that did not choose it', async () => {
  const { task } = await makeTask(fixture);
  const endpoint = await openEndpoint(task.account_id);
  await change(endpoint, { events: ['task.completed'] });
  const stale = { ...task, lease: task.lease + 7 };
  await assert.rejects(moveNow(db, stale, FAILED));
  await moveNow(db, await claimTask(db, task.id), FAILED);
  assert.deepEqual(await logOf(endpoint), []);
});

test('a delivery is tried again at the published times with the same id, and then no more', async () => {
  const { endpoint } = await failedTask();
  respond = responding(500, 'out of order');
  let clock = 0;
  for (const seconds of RETRY_SECONDS) {
    await deliver();
    clock += seconds * 1.1 + 300; // the jitter, and the longest pause of the endpoint
    await fixture.database.setClock(clock);
  }
  await deliver();
  await fixture.database.setClock(clock + 200_000);
  await deliver();
  assert.equal(received.length, RETRY_SECONDS.length + 1);
  assert.equal(new Set(received.map(({ id }) => id)).size, 1);
  const [delivery] = await logOf(endpoint);
  assert.deepEqual([delivery?.state, delivery?.next_attempt_at], ['failed', null]);
  assert.equal(delivery?.attempts[0]?.response, 'out of order');
});

test('a delivery is found when it is due, and costs an idle worker no claim before', async () => {
  const { endpoint } = await failedTask();
  const lookFor = async (seconds = 0.5) => {
    const { due, nextSeconds } = await findDueWork(db, [], seconds);
    return { due, isNear: nextSeconds !== undefined };
  };
  const isDue = { due: ['webhooks'], isNear: false };
  const waits = { due: [], isNear: false };
  assert.deepEqual(await lookFor(), isDue);
  respond = responding(500);
  await deliver();
  assert.deepEqual(await lookFor(), waits, 'its retry is in five seconds');
  assert.deepEqual(await lookFor(10), { due: [], isNear: true });
  await fixture.database.setClock(6);
  assert.deepEqual(await lookFor(), isDue);
  await deliver();
  await testEvent(endpoint);
  await deliver();
  await sql(db, 'update webhook_deliveries set due_at = clock_now()');
  assert.deepEqual(await lookFor(), waits, 'its endpoint is paused');
  await fixture.database.setClock(60);
  assert.deepEqual(await lookFor(), isDue);
  await change(endpoint, { enabled: false });
  assert.deepEqual(await lookFor(), waits, 'its endpoint is disabled');
});

test('an endpoint that fails is paused, and a success ends the pause', async () => {
  const { task, endpoint } = await failedTask();
  respond = responding(503);
  await deliver();
  const event = { accountId: task.account_id, type: 'credits.low', data: {} } as const;
  await recordEvent(db, event);
  await deliver();
  assert.equal(received.length, 1, 'nothing is sent while it is paused');
  await fixture.database.setClock(6);
  respond = responding(200);
  await deliver();
  assert.equal(received.length, 3, `the event of ${task.id} and the other one`);
  const { failing_since: failingSince } = await stateOf(endpoint);
  assert.equal(failingSince, null);
});

test('an endpoint that responds 410 is switched off with a mail, and goes on when it is enabled', async () => {
  const { endpoint } = await failedTask();
  respond = responding(410);
  await deliver();
  const off = await stateOf(endpoint);
  assert.equal(off.disabled_because, 'gone');
  const [told, ...more] = (await mails()).filter(({ subject }) => /switched off/.test(subject));
  assert.deepEqual([told?.account_id, more], [endpoint.owner.accountId, []]);
  await fixture.database.setClock(60);
  await deliver();
  assert.equal(received.length, 1);
  respond = responding(200);
  await change(endpoint, { enabled: true });
  await deliver();
  assert.equal(received.length, 2);
});

test('a test event ends the pause of an endpoint, and there are at most ten in a minute', async () => {
  const { endpoint } = await failedTask();
  respond = responding(503);
  await deliver();
  respond = responding(200);
  await testEvent(endpoint);
  await deliver();
  assert.equal(received.length, 2);
  for (let sent = 1; sent < 10; sent += 1) {
    await testEvent(endpoint);
  }
  await assert.rejects(testEvent(endpoint), { code: 'rate_limited' });
});

test("the owner's changes during a turn take effect at once", async () => {
  const { endpoint } = await failedTask();
  for (let more = 0; more < 9; more += 1) await testEvent(endpoint);
  let changed: Promise<unknown> | undefined;
  respond = async (response) => {
    changed ??= change(endpoint, { enabled: false });
    await changed;
    response.writeHead(200).end();
  };
  await deliver();
  assert.equal(received.length, 8, 'after the tries that were under way, nothing is sent');
  await change(endpoint, { enabled: true });
  await deliver();
  assert.equal(received.length, 10);
});

test('a 410 from an old address does not switch off an endpoint with a new address', async () => {
  const { endpoint } = await failedTask();
  respond = async (response) => {
    await change(endpoint, { url: `${url}&moved` });
    response.writeHead(410).end();
  };
  await deliver();
  const { disabled_at: disabledAt } = await stateOf(endpoint);
  assert.equal(disabledAt, null);
});

test('an event can be resent while it is being sent, and after it has arrived', async () => {
  const { endpoint } = await failedTask();
  const again = () =>
    sendAgain(db, endpoint.owner, { endpointId: endpoint.id, eventId: received[0]?.id ?? '' });
  respond = async (response) => {
    if (received.length === 1) await again();
    response.writeHead(200).end();
  };
  await deliver();
  assert.equal(received.length, 2);
  assert.equal((await logOf(endpoint))[0]?.state, 'delivered');
  await again();
  await deliver();
  assert.equal(new Set(received.map(({ id }) => id)).size, 1);
  assert.equal(received.length, 3);
  assert.equal((await logOf(endpoint))[0]?.attempts.length, 3);
});

test('an event whose task can not be read delays no other event, and counts no try', async () => {
  const { task, endpoint } = await failedTask();
  await testEvent(endpoint);
  const taskOf = deps.taskOf;
  deps.taskOf = async () => Promise.reject(new Error('unreadable'));
  await deliver();
  deps.taskOf = taskOf;
  const types = () => received.map(({ type }) => type);
  assert.deepEqual(types(), ['webhook.test']);
  await fixture.database.setClock(61);
  await deliver();
  assert.deepEqual(types(), ['webhook.test', 'task.failed'], task.id);
  assert.equal((await logOf(endpoint)).at(-1)?.attempts.length, 1);
});

test('at most four endpoints of an account are sent to at a time', async () => {
  const { task, endpoint } = await failedTask();
  const owned = [endpoint];
  for (let more = 0; more < 5; more += 1) owned.push(await openEndpoint(task.account_id));
  for (const one of owned) await testEvent(one);
  const other = await failedTask();
  const first = await claim();
  assert.equal(first.filter(({ account_id: id }) => id === task.account_id).length, 4);
  assert.ok(first.some(({ id }) => id === other.endpoint.id));
  assert.deepEqual(await claim(), []);
});

test('an owner is mailed about a new endpoint, secret or address, and who made it', async () => {
  const { endpoint } = await failedTask();
  let clock = 0;
  const told = async () => {
    clock += 301;
    await fixture.database.setClock(clock);
    const [mail, ...more] = await mails();
    assert.deepEqual(more, []);
    assert.match(mail?.text ?? '', /By: a test/);
    return mail?.subject;
  };
  assert.equal(await told(), 'A webhook endpoint was created');
  await replaceSecret(db, endpoint.owner, endpoint.id);
  assert.deepEqual(await mails(), [], 'no mail for each of many changes');
  assert.equal(await told(), 'A webhook endpoint has a new secret');
  await change(endpoint, { url: `${url}&moved` });
  assert.equal(await told(), 'A webhook endpoint has a new address');
});

test('an endpoint is switched off after five days without a success, and not earlier', async () => {
  const { endpoint } = await failedTask();
  respond = responding(500);
  await deliver();
  for (const [hours, isOff] of [
    [119, false],
    [121, true],
  ] as const) {
    await fixture.database.setClock(hours * 3600);
    await testEvent(endpoint);
    await deliver();
    const { disabled_because: why } = await stateOf(endpoint);
    assert.equal(why, isOff ? 'failing' : null, `after ${hours} hours`);
  }
});

test('an event whose process died after the send is sent again with the same id', async () => {
  await failedTask();
  const [endpoint] = await claim();
  assert.ok(endpoint);
  const dying = { ...deps, db: { ...db, transaction: () => Promise.reject(new Error('died')) } };
  await assert.rejects(deliverDue(dying, endpoint, new AbortController().signal), /died/);
  await deliver();
  assert.equal(received.length, 1, 'the lease of the dead process has not ended');
  await fixture.database.setClock(31);
  await deliver();
  assert.equal(received.length, 2);
  assert.equal(received[0]?.id, received[1]?.id);
});

test('a redirect is a failure, and no more than 64 KiB of a response are read', async () => {
  const { endpoint } = await failedTask();
  respond = (response) => response.writeHead(302, { location: url }).end();
  await deliver();
  assert.equal(received.length, 1);
  let sent = 0;
  respond = (response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(16_384))) sent += 16_384;
    };
    response.writeHead(200).on('drain', more);
    more();
  };
  await fixture.database.setClock(10);
  await deliver();
  const [delivery] = await logOf(endpoint);
  const statuses = delivery?.attempts.map(({ status }) => status);
  assert.deepEqual(statuses, [302, 200]);
  assert.equal(delivery?.attempts[1]?.response, 'x'.repeat(1024));
  assert.ok(sent < 64 * 2 ** 20);
});

for (const [what, to, cause] of [
  ['is not public', 'https://127.0.0.1:1/hook', /public/],
  [
    'has a port that is not allowed any more',
    'https://example.com:8443/hook',
    /^The port 8443 is not allowed, only 1 to 443$/,
  ],
] as const) {
  test(`an address that ${what} is not called, but tried later, with that cause`, async () => {
    const { endpoint } = await failedTask(to);
    await deliver();
    const [delivery] = await logOf(endpoint);
    assert.deepEqual([delivery?.state, delivery?.attempts[0]?.status], ['waiting', null]);
    assert.match(delivery?.attempts[0]?.cause ?? '', cause);
  });
}

test('an account has at most ten endpoints, also when creates come at once', async () => {
  const { task } = await makeTask(fixture);
  const creates = Array.from({ length: 14 }, () => openEndpoint(task.account_id));
  const results = await Promise.allSettled(creates);
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 10);
});

test('the log of a deleted endpoint is deleted, and any log after 30 days', async () => {
  const { endpoint } = await failedTask();
  await deliver();
  await fixture.database.setClock(29 * 86_400);
  await purgeDeliveries(db);
  assert.equal((await logOf(endpoint)).length, 1);
  await fixture.database.setClock(31 * 86_400);
  await purgeDeliveries(db);
  assert.equal((await logOf(endpoint)).length, 0);
  await testEvent(endpoint);
  await deleteEndpoint(db, endpoint.owner, endpoint.id);
  await deliver();
  assert.equal(received.length, 1, 'nothing is sent to a deleted endpoint');
  await fixture.database.setClock(31 * 86_400 + 7200);
  await purgeDeliveries(db);
  const left = await sql(db, 'select from webhook_endpoints where id = $1', [endpoint.id]);
  assert.equal(left.length, 0);
});

test('events of an endpoint without an address are kept in its log and never sent', async () => {
  const { task, endpoint } = await failedTask(null);
  const low = { available_credits: 3, below_credits: 10 };
  await recordEvent(db, { accountId: task.account_id, type: 'credits.low', data: low });
  const eventId = await testEvent(endpoint);
  await sendAgain(db, endpoint.owner, { endpointId: endpoint.id, eventId });
  await deliver();
  assert.deepEqual(received, []);
  const log = await logOf(endpoint);
  assert.deepEqual(
    log.map(({ type, task_id, data, state }) => [type, task_id, data, state]),
    [
      ['webhook.test', null, { message: 'This event was sent to test the endpoint.' }, 'logged'],
      ['credits.low', null, low, 'logged'],
      ['task.failed', task.id, null, 'logged'],
    ],
  );
  assert.deepEqual(await mails(), [], 'such an endpoint needs no mail');
});
