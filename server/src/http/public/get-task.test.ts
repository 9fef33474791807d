import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp, type TestCustomer } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { until } from '../../../test/until.ts';
import { taskMaker } from '../../../test/website/own-tasks.ts';
import { statement } from '../../database/database.ts';
import { type Phase, readTask } from '../../tasks/task.ts';
import { type Changes, moveNow } from '../../tasks/transitions.ts';

const api = await openTestApp();
const make = taskMaker(api.deps);
const customer = await api.customer(100_000);
after(() => api.close());

async function createTask(): Promise<string> {
  return (await customer.create({ prompt: 'a lighthouse at dawn' })).body.id;
}

async function read(id: string) {
  return customer.send({ url: `/api/v1/tasks/${encodeURIComponent(id)}` });
}

async function moveOn(id: string, to: Phase, changes: Changes = {}): Promise<void> {
  await moveNow(api.database.db, await readTask(api.database.db, id), { to, changes });
}

test('the status of a task is processing until it ends, also while it is held', async () => {
  const id = await createTask();
  for (const phase of ['ingesting', 'submitting', 'held', 'generating', 'archiving'] as const) {
    await moveOn(id, phase, phase === 'held' ? { heldCause: 'acceptance' } : {});
    const { body } = await read(id);
    assert.deepEqual([body.status, body.output, body.error], ['processing', null, null], phase);
    assert.deepEqual([body.credits_used, body.credits_refunded], [250, 0]);
    assert.ok(body.updated_at >= body.created_at);
  }
});

test('each read of a completed task returns a new delivery link', async () => {
  const id = await make(customer.accountId, { ended: 'completed' });
  const { body } = await read(id);
  assert.deepEqual([body.status, body.error, body.credits_refunded], ['completed', null, 0]);
  assert.deepEqual(Object.keys(body.output), ['video_url']);
  const url = new URL(body.output.video_url);
  assert.match(url.pathname, /^\/media\/obj_\w+\.mp4$/);
  await api.database.setClock(5);
  const later = new URL((await read(id)).body.output.video_url);
  await api.database.setClock(0);
  assert.equal(later.pathname, url.pathname);
  assert.ok(Number(later.searchParams.get('expires')) > Number(url.searchParams.get('expires')));
});

test('a failed task has an error with code and message, and a full refund', async () => {
  const id = await createTask();
  const error = { code: 'provider_failed', message: 'It failed.', details: { secret: 1 } } as const;
  await moveOn(id, 'failed', { error });
  const { body } = await read(id);
  assert.deepEqual([body.status, body.output], ['failed', null]);
  assert.deepEqual(body.error, { code: 'provider_failed', message: 'It failed.' });
  assert.deepEqual([body.credits_used, body.credits_refunded], [250, 250]);
});

const OTHER_SURFACE = statement('test_surface', `update tasks set surface = 'web' where id = $1`);

test('a task of another account or surface is 404, like an unknown one', async () => {
  const id = await createTask();
  const other = await api.customer(0);
  const url = `/api/v1/tasks/${id}`;
  const missing = await read('task_none');
  assertError(missing, 'not_found');
  const foreign = await other.send({ url });
  assertError(foreign, 'not_found');
  assert.deepEqual(foreign.body, missing.body);
  await api.database.db.query(OTHER_SURFACE, [id]);
  assertError(await read(id), 'not_found');
});

test('an id must match exactly, and its case matters', async () => {
  const id = await createTask();
  for (const near of [id.toUpperCase(), `${id} `, ` ${id}`, `${id}\u0000`, id.slice(0, -1), '%']) {
    assertError(await read(near), 'not_found');
  }
  assert.equal((await customer.send({ url: `/api/v1/tasks/task%5F${id.slice(5)}` })).status, 200);
});

/** Reads a task with this Prefer header. @returns the response, and how long it took in seconds */
async function readWaiting(id: string, prefer: string) {
  const startedAt = performance.now();
  const url = `/api/v1/tasks/${id}`;
  const response = await customer.send({ url, headers: { prefer } });
  const seconds = (performance.now() - startedAt) / 1000;
  return { ...response, seconds, applied: response.headers['preference-applied'] };
}

test('a read that waits responds when the task has ended', async () => {
  const id = await createTask();
  const waits = [
    readWaiting(id, 'wait=20'),
    readWaiting(id, 'respond-async, Wait="99999999999"; a=b'),
  ];
  await moveOn(id, 'ingesting');
  const error = { code: 'provider_failed', message: 'It failed.' } as const;
  await moveOn(id, 'failed', { error });
  const [first, second] = await Promise.all(waits);
  assert.deepEqual([first?.status, first?.body.status, first?.applied], [200, 'failed', 'wait=20']);
  assert.equal(second?.applied, 'wait=30', 'at most 30 seconds');
  assert.deepEqual(first?.body, (await read(id)).body);
  assert.ok((first?.seconds ?? 99) < 15);
  const late = await readWaiting(id, 'wait=20');
  assert.deepEqual([late.applied, late.body], ['wait=20', first?.body], 'it had ended before');
});

test('a read whose wait is over shows the task as it is then', async () => {
  const id = await createTask();
  const waiting = readWaiting(id, 'wait=1');
  await moveOn(id, 'submitting');
  const { status, body, applied, seconds } = await waiting;
  assert.deepEqual([status, body.status, applied], [200, 'processing', 'wait=1']);
  assert.ok(seconds >= 0.99, `it took ${seconds} s`);
  assert.deepEqual(body, (await read(id)).body);
});

test('a wait that is not understood is no error and no wait', async () => {
  const id = await createTask();
  const waits = ['wait', 'wait=0', 'wait=-1', 'wait=1.5', 'wait=x', 'await=9', 'wait=0, wait=9'];
  for (const prefer of waits) {
    const { status, applied, seconds } = await readWaiting(id, prefer);
    assert.deepEqual([status, applied, seconds < 5], [200, undefined, true], prefer);
  }
  assertError(await readWaiting('task_none', 'wait=9'), 'not_found');
});

test('a key has 20 places for reads that wait; who disconnects leaves a free one', async () => {
  const id = await createTask();
  const authorization = await customer.authorization();
  const wait = () => {
    const client = new AbortController();
    const headers = { authorization, prefer: 'wait=30' };
    const response = fetch(`${api.url}/api/v1/tasks/${id}`, { headers, signal: client.signal });
    const read = { client, isOver: false, applied: response.then(appliedOf, () => 'gone') };
    void read.applied.then(() => {
      read.isOver = true;
    });
    return read;
  };
  const reads = Array.from({ length: 21 }, wait);
  const first = await Promise.race(reads.map(({ applied }) => applied));
  assert.equal(first, null, 'one finds no place');
  const staying = reads.filter(({ isOver }) => !isOver);
  assert.equal(staying.length, 20);
  const leaving = staying.pop();
  leaving?.client.abort();
  assert.equal(await leaving?.applied, 'gone');
  // The service may notice a little later that the client has gone. A read that has no response
  // after a while has the place.
  let next = wait();
  let looks = 0;
  const hasPlace = async () => {
    looks = next.isOver ? 0 : looks + 1;
    if (next.isOver) next = wait();
    return looks > 4;
  };
  await until(hasPlace, (itHas) => itHas);
  const error = { code: 'provider_failed', message: 'It failed.' } as const;
  await moveOn(id, 'failed', { error });
  for (const { applied } of [...staying, next]) assert.equal(await applied, 'wait=30');
});

function appliedOf(response: Response): string | null {
  return response.headers.get('preference-applied');
}

async function movements(id: string, by: TestCustomer): Promise<string[]> {
  const { status, body } = await by.send({ url: `/api/v1/tasks/${id}/ledger` });
  assert.equal(status, 200, JSON.stringify(body));
  let last = '';
  return body.data.map((movement: Record<string, string>) => {
    assert.deepEqual(Object.keys(movement), ['created_at', 'kind', 'reason', 'credits']);
    assert.ok((movement.created_at ?? '') >= last, 'the oldest first');
    last = movement.created_at ?? '';
    return `${movement.reason} ${movement.credits} ${movement.kind}`;
  });
}

test('the ledger of a task has its reserve, and its capture or refund once it has ended', async () => {
  const owner = await api.customer(100_000);
  const { accountId } = owner;
  assert.deepEqual(await movements(await make(accountId), owner), ['reserve 250 paid']);
  const completed = await make(accountId, { ended: 'completed' });
  assert.deepEqual(await movements(completed, owner), ['reserve 250 paid', 'capture 250 paid']);
  const failed = await make(accountId, { ended: 'provider_failed' });
  assert.deepEqual(await movements(failed, owner), ['reserve 250 paid', 'refund 250 paid']);
});
