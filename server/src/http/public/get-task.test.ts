import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, type TestCustomer } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { until } from '../../../test/until.ts';
import { taskMaker } from '../../../test/website/own-tasks.ts';
import { type Phase, readTask } from '../../tasks/task.ts';
import { type Changes, moveNow } from '../../tasks/transitions.ts';

const api = await openTestApp();
const { db, setClock } = api.database;
const make = taskMaker(api.deps);
const customer = await api.customer(100_000);

async function createTask(): Promise<string> {
  return (await customer.create({ prompt: 'a lighthouse at dawn' })).body.id;
}

async function read(id: string) {
  return customer.send({ url: `/api/v1/tasks/${encodeURIComponent(id)}` });
}

async function moveOn(id: string, to: Phase, changes: Changes = {}): Promise<void> {
  await moveNow(db, await readTask(db, id), { to, changes });
}

test('each read of a completed task returns a new delivery link', async () => {
  const id = await make(customer.accountId, { ended: 'completed' });
  const { body } = await read(id);
  assert.deepEqual([body.status, body.error, body.credits_refunded], ['completed', null, 0]);
  assert.deepEqual(Object.keys(body.output), ['video_url']);
  const url = new URL(body.output.video_url);
  assert.match(url.pathname, /^\/media\/obj_\w+\.mp4$/);
  await setClock(5);
  const later = new URL((await read(id)).body.output.video_url);
  await setClock(0);
  assert.equal(later.pathname, url.pathname);
  assert.ok(Number(later.searchParams.get('expires')) > Number(url.searchParams.get('expires')));
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

test('a wait that is not understood is ignored', async () => {
  const id = await createTask();
  const waits = ['wait', 'wait=0', 'wait=-1', 'wait=1.5', 'wait=x', 'await=9', 'wait=0, wait=9'];
  for (const prefer of waits) {
    const { status, applied, seconds } = await readWaiting(id, prefer);
    assert.deepEqual([status, applied, seconds < 5], [200, undefined, true], prefer);
  }
  assertError(await readWaiting('task_none', 'wait=9'), 'not_found');
});

test('a key has 20 slots for reads that wait; a client that disconnects frees its slot', async () => {
  const by = await api.customer(10_000); // its key has sent nothing else
  const id = await make(by.accountId);
  const authorization = await by.authorization();
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
  assert.equal(first, null, 'one finds no slot');
  const staying = reads.filter(({ isOver }) => !isOver);
  assert.equal(staying.length, 20);
  const leaving = staying.pop();
  leaving?.client.abort();
  assert.equal(await leaving?.applied, 'gone');
  // The service may notice a little later that the client has gone. A read that has no response
  // after a while has the slot.
  let next = wait();
  let looks = 0;
  const hasSlot = async () => {
    looks = next.isOver ? 0 : looks + 1;
    if (next.isOver) next = wait();
    return looks > 4;
  };
  await until(hasSlot, (itHas) => itHas);
  const error = { code: 'provider_failed', message: 'It failed.' } as const;
  await moveOn(id, 'failed', { error });
  for (const { applied } of [...staying, next]) assert.equal(await applied, 'wait=30');
});

function appliedOf(response: Response): string | null {
  return response.headers.get('preference-applied');
}

const TASKS = '/api/v1/tasks';

async function list(by: TestCustomer, query: Record<string, string> = {}) {
  return by.send({ url: TASKS, query });
}

async function idsOf(by: TestCustomer, query: Record<string, string> = {}): Promise<string[]> {
  const { status, body } = await list(by, query);
  assert.equal(status, 200, JSON.stringify(body));
  return body.data.map(({ id }: { id: string }) => id);
}

/** The ids of all pages. @param between is called before each page but the first */
async function walk(
  by: TestCustomer,
  query: Record<string, string>,
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    if (cursor !== null) await between();
    const { status, body } = await list(by, { ...query, ...(cursor === null ? {} : { cursor }) });
    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(body.data.length <= Number(query.limit));
    ids.push(...body.data.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
  } while (cursor !== null);
  return ids;
}

test('a list has the tasks of its account and surface only', async () => {
  const [own, foreign] = [await api.customer(10_000), await api.customer(10_000)];
  const mine = await make(own.accountId);
  await make(own.accountId, { surface: 'web' });
  await make(foreign.accountId);
  assert.deepEqual(await idsOf(own), [mine]);
  assert.deepEqual(await walk(own, { limit: '1' }), [mine]);
});

test('each filter finds its tasks, also together', async () => {
  const by = await api.customer(10_000);
  const { accountId } = by;
  const done = await make(accountId, {
    ended: 'completed',
    model: 'video-2.0',
    createdAt: '2026-02-01T10:00:00.123456Z',
  });
  const failed = await make(accountId, {
    ended: 'content_refused',
    createdAt: '2026-02-01T11:00:00Z',
  });
  const live = await make(accountId);
  const finds = async (query: Record<string, string>, ...ids: string[]) =>
    assert.deepEqual(await idsOf(by, query), ids, JSON.stringify(query));
  await finds({ status: 'completed' }, done);
  await finds({ status: 'failed' }, failed);
  await finds({ status: 'processing' }, live);
  await finds({ model: 'video-2.0' }, done);
  await finds({ status: 'failed', model: 'video-2.0' });
  const [, , oldest] = (await list(by)).body.data;
  assert.equal(oldest.created_at, '2026-02-01T10:00:00.123Z');
  await finds({ created_after: oldest.created_at }, live, failed, done);
  await finds({ created_before: oldest.created_at });
  await finds(
    { created_after: '2026-02-01T12:00:00+01:00', created_before: '9999-12-31T23:59:59Z' },
    live,
    failed,
  );
  await finds(
    { created_after: '0000-01-01T00:00:00Z', created_before: '2026-02-01T11:00:00Z' },
    done,
  );
  await finds({ created_after: '2026-02-02T00:00:00Z', created_before: '2026-02-01T00:00:00Z' });
});

test('all pages together have each task once while others arrive and end', async () => {
  const by = await api.customer(100_000);
  const ids: string[] = [];
  // Created at one moment: their ids decide the order.
  for (let count = 0; count < 7; count += 1) {
    ids.push(await make(by.accountId, { createdAt: '2026-03-01T10:00:00.123456Z' }));
  }
  const old: string[] = [];
  for (let day = 9; day > 5; day -= 1) {
    const createdAt = `2026-01-0${day}T00:00:00Z`;
    old.push(await make(by.accountId, { ended: 'content_refused', createdAt }));
  }
  const expected = [...ids.sort().reverse(), ...old];
  assert.deepEqual(await walk(by, { limit: '4' }), expected);
  const arrived: string[] = [];
  const arrive = async () => arrived.unshift(await make(by.accountId));
  assert.deepEqual(await walk(by, { limit: '3' }, arrive), expected, 'the new ones are not in it');
  assert.equal(arrived.length, 3);
  assert.deepEqual(await walk(by, { limit: '100' }), [...arrived, ...expected]);
  assert.deepEqual(await walk(by, { limit: '2', status: 'failed' }), old);
});

test('a task that is committed late is in the list from then on', async () => {
  const by = await api.customer(100_000);
  const older = await make(by.accountId);
  const late = await make(by.accountId);
  const newer = await make(by.accountId);
  // The row is invisible until its create has committed.
  await sql(db, `update tasks set surface = 'late' where id = $1`, [late]);
  const appear = () => sql(db, `update tasks set surface = 'api' where id = $1`, [late]);
  assert.deepEqual(await walk(by, { limit: '1' }, appear), [newer, late, older]);
  assert.deepEqual(await walk(by, { limit: '2' }), [newer, late, older]);
});

test('a query that is not valid gets 400 with its parameter and the reason', async () => {
  const refused: [string, string, string][] = [
    ['status', 'held', 'not_one_of'],
    ['status', '', 'not_one_of'],
    ['model', 'video-3', 'not_one_of'],
    ['created_after', 'yesterday', 'malformed'],
    ['created_after', '2026-11-22', 'malformed'],
    ['created_before', '2026-02-30T00:00:00Z', 'malformed'],
    ['created_before', '2026-11-22T10:00:00', 'malformed'],
    ['created_after', '2016-12-31T23:59:60Z', 'malformed'],
    ['stauts', 'failed', 'unknown_property'],
    ['cursor', '', 'malformed'],
    ['cursor', 'x', 'malformed'],
    ['cursor', '\u0000', 'malformed'],
    ['cursor', 'x'.repeat(401), 'too_long'],
    ['cursor', encode('2026-11-22 10:00:00+00'), 'malformed'],
    ['cursor', encode('2026-13-22 10:00:00+00 task_1'), 'malformed'],
    ['cursor', encode("2026-11-22 10:00:00+00 task_1'"), 'malformed'],
    ['cursor', `${encode('2026-11-22 10:00:00+00 task_1')}=`, 'malformed'],
  ];
  for (const [field, value, reason] of refused) {
    const response = await list(customer, { [field]: value });
    assertError(response, 'invalid_request', { field, reason });
  }
  const twice = await customer.send({ url: `${TASKS}?limit=1&limit=2` });
  assertError(twice, 'invalid_request', { field: 'limit', reason: 'wrong_type' });
  const valid = { cursor: encode('2026-11-22 10:00:00+00 task_1') };
  assert.equal((await list(customer, valid)).status, 200);
});

function encode(position: string): string {
  return Buffer.from(position).toString('base64url');
}
