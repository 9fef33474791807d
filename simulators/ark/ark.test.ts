import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../kit/faults.ts';
import { type SimulatorProcess, startSimulator } from '../kit/process.ts';
import { type CallbackHost, startCallbackHost } from '../test/callback-host.ts';

const TASKS = 'api/v3/contents/generations/tasks';
let folder: string;
let ark: SimulatorProcess;
let callbacks: CallbackHost;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ark-'));
  [ark, callbacks] = await Promise.all([startArk(), startCallbackHost()]);
});
after(async () => {
  await Promise.all([ark.kill(), callbacks.close()]);
  await rm(folder, { recursive: true });
});

/** Slow enough that each status can be read and sent in a callback on a busy machine. */
function startArk(): Promise<SimulatorProcess> {
  return startSimulator('ark', folder, ['--job-seconds', '1.5']);
}

function ask(method: string, target: string, body?: unknown): Promise<Response> {
  const url = target.startsWith('http') ? target : `${ark.url}/${target}`;
  const headers = { authorization: 'Bearer key' };
  return fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
}

function bodyFor(prompt: string, changes: Record<string, unknown> = {}) {
  return {
    model: 'dreamina-seedance-2-0-260128',
    content: [{ type: 'text', text: prompt }],
    resolution: '480p',
    ratio: '1:1',
    duration: 4,
    generate_audio: false,
    callback_url: callbacks.url(prompt),
    ...changes,
  };
}

async function create(prompt: string, faults: Fault[] = []): Promise<string> {
  if (faults.length > 0) await ark.plan({ faults });
  const response = await ask('POST', TASKS, bodyFor(prompt));
  assert.equal(response.status, 200);
  return String(Object(await response.json()).id);
}

async function show(id: string) {
  const task = await (await ask('GET', `${TASKS}/${id}`)).json();
  return Object(task);
}

async function succeeded(id: string) {
  for (let task = await show(id); ; task = await show(id)) {
    if (task.status === 'succeeded') return task;
    await delay(20);
  }
}

/** The statuses of the callbacks, in the order in which they arrived. */
async function calledBack(prompt: string, count: number): Promise<string[]> {
  const received = await callbacks.arrived(prompt, count);
  return received.map(({ body }) => JSON.parse(Buffer.from(body).toString()).status);
}

test('jobs survive a SIGKILL, and their time continues', async () => {
  const id = await create('survivor');
  await ark.kill('SIGKILL');
  ark = await startArk();
  assert.equal((await succeeded(id)).id, id);
  assert.deepEqual(
    (await ark.jobs()).map(({ prompt }) => prompt),
    ['survivor'],
  );
});

test('a request that Ark refuses creates no job', async () => {
  const count = (await ark.jobs()).length;
  const strange = [{ seed: 7 }, { duration: 3 }, { ratio: 'adaptive' }, { service_tier: 'flex' }];
  for (const changes of strange) {
    const response = await ask('POST', TASKS, bodyFor('strange', changes));
    assert.equal(response.status, 400, JSON.stringify(changes));
  }
  const model = await ask('POST', TASKS, bodyFor('strange', { model: 'seedance-9' }));
  assert.equal(model.status, 404);
  const keyless = await fetch(`${ark.url}/${TASKS}`, { method: 'POST', body: '{}' });
  assert.equal(keyless.status, 401);
  assert.equal((await ark.jobs()).length, count);
});

test('each change of status sends a callback, in order', async () => {
  await create('reported');
  assert.deepEqual(await calledBack('reported', 3), ['queued', 'running', 'succeeded']);
});

test('faults make callbacks come twice, reversed, after forged ones or not at all', async () => {
  await create('twice', [{ kind: 'callback_duplicate' }]);
  await create('reversed', [{ kind: 'callback_reordered' }]);
  await create('forged', [{ kind: 'callback_forged' }]);
  const silent = await create('silent', [{ kind: 'callback_missing' }]);
  const twice = ['queued', 'queued', 'running', 'running', 'succeeded', 'succeeded'];
  assert.deepEqual(await calledBack('twice', 6), twice);
  assert.deepEqual(await calledBack('reversed', 3), ['succeeded', 'running', 'queued']);
  assert.deepEqual((await calledBack('forged', 6))[0], 'succeeded');
  await succeeded(silent);
  assert.deepEqual(callbacks.received('silent'), []);
});

test('a link works only for GET, with its signature and before it expires', async () => {
  const { content } = await succeeded(await create('link'));
  const video = Buffer.from(await (await ask('GET', content.video_url)).arrayBuffer());
  assert.equal(video.subarray(4, 8).toString(), 'ftyp');
  assert.notEqual((await ask('HEAD', content.video_url)).status, 200);
  assert.equal(
    (await ask('GET', content.video_url.replace(/expires=\d/, 'expires=9'))).status,
    403,
  );
  const expired = await succeeded(await create('old link', [{ kind: 'output_expired' }]));
  assert.equal((await ask('GET', expired.content.video_url)).status, 403);
});

test('faults make outputs truncated, of another type, or shorter', async () => {
  const sizes = new Map<string, number>();
  const plans: [string, Fault[]][] = [
    ['whole', []],
    ['cut', [{ kind: 'output_truncated' }]],
    ['short', [{ kind: 'output_short' }]],
    ['html', [{ kind: 'output_wrong_type' }]],
  ];
  for (const [prompt, faults] of plans) {
    const { content } = await succeeded(await create(prompt, faults));
    sizes.set(prompt, (await (await ask('GET', content.video_url)).arrayBuffer()).byteLength);
  }
  const [whole = 0, cut = 0, short = 0, html = 0] = sizes.values();
  assert.equal(cut, Math.floor(whole / 2));
  assert.ok(short < whole && short > cut, JSON.stringify([...sizes]));
  assert.ok(html < 100);
});

test('DELETE cancels a queued task and hides an ended one, which stays in the record', async () => {
  const queued = await create('cancelled');
  await ark.changeJob(queued, { forcedStatus: 'queued' });
  assert.equal((await ask('DELETE', `${TASKS}/${queued}`)).status, 200);
  assert.equal((await show(queued)).status, 'cancelled');
  const ended = await create('forgotten');
  await ark.changeJob(ended, { forcedStatus: 'running' });
  assert.equal((await ask('DELETE', `${TASKS}/${ended}`)).status, 409);
  await ark.changeJob(ended, { forcedStatus: 'succeeded' });
  assert.equal((await ask('DELETE', `${TASKS}/${ended}`)).status, 200);
  assert.equal((await ask('GET', `${TASKS}/${ended}`)).status, 404);
  assert.ok((await ark.jobs()).some(({ id }) => id === ended));
});

test('the list has pages and filters', async () => {
  const [one, other] = [await create('listed one'), await create('listed other')];
  const list = async (query: string) =>
    Object(await (await ask('GET', `${TASKS}?${query}`)).json());
  const both = `filter.task_ids=${one}&filter.task_ids=${other}`;
  assert.equal((await list(both)).total, 2);
  const second = await list(`${both}&page_num=2&page_size=1`);
  assert.deepEqual([second.items.length, second.total], [1, 2]);
  assert.equal((await list(`${both}&filter.status=failed`)).total, 0);
  assert.equal((await list(`${both}&filter.model=ep-1`)).total, 0);
});

test('a fault rate draws no fault that prevents a job from ending', async () => {
  const wild = await startSimulator('ark', await mkdtemp(path.join(folder, 'wild-')), [
    '--fault-rate',
    '1',
    '--seed',
    '3',
  ]);
  const url = `${wild.url}/${TASKS}`;
  const headers = { authorization: 'Bearer key' };
  const send = (prompt: string) => {
    const [body, signal] = [JSON.stringify(bodyFor(prompt)), AbortSignal.timeout(500)];
    const sent = fetch(url, { method: 'POST', headers, body, signal });
    return sent.then((response) => response.json()).catch(() => null);
  };
  await Promise.all(Array.from({ length: 40 }, (_, index) => send(`wild ${index}`)));
  const jobs = await wild.jobs();
  assert.ok(jobs.length > 10 && jobs.length < 40, String(jobs.length));
  assert.ok(jobs.every(({ quirks }) => quirks.every(({ kind }) => kind !== 'never_ends')));
  await wild.kill();
});
