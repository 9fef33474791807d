import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp } from '../../test/app.ts';
import { makeHeldTask, scriptedProvider } from '../../test/task-fixtures.ts';
import type { Provider } from '../providers/provider.ts';
import { createApp } from './app.ts';

const counted: string[] = [];
const wakeUps: string[] = [];
let received: { body: string; signature: string | undefined } | undefined;

/** Verifies the signature "good", and fails to check the signature "unreadable". */
const provider: Provider = scriptedProvider({
  async readCallback({ body, headers }) {
    if (headers.signature === 'unreadable') throw new Error('the public keys can not be fetched');
    received = { body: Buffer.from(body).toString(), signature: headers.signature };
    return headers.signature === 'good'
      ? { kind: 'report', jobId: 'job-1', verified: true }
      : { kind: 'forged', cause: 'bad signature' };
  },
});

after(() => app.close());
const tested = await openTestApp();
const app = await createApp({
  ...tested.deps,
  providers: new Map([[provider.name, provider]]),
  wakeUps: { send: (wakeUp) => wakeUps.push(wakeUp) },
  onCallback: (name, result) => counted.push(`${name} ${result}`),
});

async function heldAttempt(): Promise<{ path: string }> {
  const deps = { ...tested.deps, providerName: 'scripted' };
  const { attempt } = await makeHeldTask({ db: deps.db, deps });
  return { path: new URL(tested.deps.links.callbackTo('scripted', attempt.id)).pathname };
}

async function post(url: string, signature: string, type = 'application/json') {
  const headers = { 'content-type': type, signature };
  const response = await app.inject({ method: 'POST', url, headers, payload: '{"id":"job-1" }' });
  return { status: response.statusCode, code: response.json().error?.code };
}

test('the adapter gets the raw bytes and the headers, with every content type', async () => {
  const { path } = await heldAttempt();
  for (const type of ['application/json', 'text/plain', 'application/cloudevents+json']) {
    assert.deepEqual(await post(path, 'good', type), { status: 200, code: undefined });
    assert.deepEqual(received, { body: '{"id":"job-1" }', signature: 'good' });
  }
});

test('each result of a callback has its own response, and is counted', async () => {
  const { path } = await heldAttempt();
  counted.length = 0;
  wakeUps.length = 0;
  assert.deepEqual(await post(path, 'bad'), { status: 400, code: 'invalid_request' });
  assert.deepEqual(await post(path, 'unreadable'), { status: 503, code: 'service_busy' });
  assert.deepEqual(wakeUps, [], 'no task became due');
  await post(path, 'good');
  assert.deepEqual(counted, ['scripted forged', 'scripted failed', 'scripted received']);
  assert.deepEqual(wakeUps, ['poll']);
});

test('a callback URL that the service did not sign gets 404, and its body is not read', async () => {
  const { path } = await heldAttempt();
  received = undefined;
  const others = [
    `${path}x`,
    `${path}.x`,
    `${path}.`,
    path.replace('scripted', 'ark'),
    '/callbacks/scripted/att_1.token',
  ];
  for (const other of others) {
    assert.deepEqual(await post(other, 'good'), { status: 404, code: 'not_found' }, other);
  }
  const huge = { method: 'POST', url: `${path}x`, payload: 'x'.repeat(2 ** 21) } as const;
  assert.equal((await app.inject(huge)).statusCode, 404);
  assert.equal(received, undefined);
});

test('a body of more than a megabyte is refused', async () => {
  const { path } = await heldAttempt();
  const huge = { method: 'POST', url: path, payload: 'x'.repeat(2 ** 20 + 1) } as const;
  const response = await app.inject(huge);
  assert.equal(response.statusCode, 413);
  assert.deepEqual(response.json().error, {
    code: 'payload_too_large',
    message: 'The callback exceeds 1 MiB.',
  });
});
