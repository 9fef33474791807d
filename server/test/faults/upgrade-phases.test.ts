import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Fault } from '../../../simulators/kit/faults.ts';
import { startSimulator } from '../../../simulators/kit/process.ts';
import { audit } from '../../src/operator/audit.ts';
import { client, SMALLEST } from '../client.ts';
import { startMediaHost } from '../media/media-host.ts';
import { ROOT } from '../repository/sources.ts';
import { startLoadBalancer } from '../service/load-balancer.ts';
import { runOperatorCommand } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';
import { makeKeys, openUpgrade, UPGRADE } from './previous-version.ts';

const PICTURE = path.join(ROOT, 'acceptance/media/picture.png');
const UNLISTED: Fault = { kind: 'list_lag', seconds: 3600 };
const ENDLESS: Fault = { kind: 'never_ends' };

/** Prompts of tasks, by the phase into which the previous version brings them. */
const FAULTS: Record<string, Fault[]> = {
  failed: [{ kind: 'fails' }],
  generating: [ENDLESS],
  archiving: [ENDLESS],
  'held for its acceptance': [{ kind: 'drop_after_accepting' }, UNLISTED, ENDLESS],
  'held for its outcome': [{ kind: 'vanishes' }],
  'in flight': [{ kind: 'slow_headers' }],
  submitting: [{ kind: 'refuse', status: 429 }],
};

/** The previous version, a provider and a host of media, which a proxy stands before. */
async function openPhases(t: TestContext) {
  const { db, env, folder, cleanup, previous, start } = await openUpgrade(t);
  const provider = cleanup.adopt(await startSimulator('ark', folder), (one) => one.kill());
  const media = cleanup.adopt(await startMediaHost(), (host) => host.close());
  const proxy = cleanup.use(await startLoadBalancer());
  const own = {
    PROVIDER: 'ark',
    ARK_API_KEY: 'one',
    ARK_BASE_URL: `${provider.url}/api/v3`,
    OUTBOUND_ALLOW: `localhost:${media.port}`,
    PROVIDER_ALLOW: new URL(provider.url).host,
    PUBLIC_URL: `http://127.0.0.1:${proxy.port}`,
    CREATE_WAIT_SECONDS: '0',
    SUBMIT_TIMEOUT_SECONDS: '600',
    RECONCILE_SECONDS: '3600', // only a callback finds the job of a held task
  };
  const startRole = (role: string, program?: string[]) => start({ ...own, ROLES: role }, program);
  const oldApi = await startRole('api', previous);
  const oldWorker = await startRole('worker', previous);
  const [creating = '', reading = ''] = await makeKeys(previous, env); // of one account
  const ids = new Map<string, string>();
  return {
    db,
    provider,
    media,
    proxy,
    oldApi,
    oldWorker,
    startNew: (role: string) => startRole(role),
    startOld: (role: string) => startRole(role, previous),
    ids,
    async create(prompt: string, changes = {}, { url } = oldApi) {
      const body = { ...SMALLEST, ...changes, prompt };
      // The provider's 429 to `submitting` closes its connection for about a second.
      const send = () => client(url, creating).create(body);
      const created = await until(send, ({ status }) => status !== 503);
      assert.equal(created.status, 202, JSON.stringify(created.body));
      ids.set(prompt, created.body.id);
    },
    read: (url: string, prompt: string) => client(url, reading).task(ids.get(prompt) ?? ''),
    wake: (prompt: string) => runOperatorCommand(env, 'tasks', 'wake', ids.get(prompt) ?? ''),
    async changeJob(prompt: string, quirks: Fault[] = []) {
      const job = (await provider.jobs()).find((one) => one.prompt === prompt);
      await provider.changeJob(job?.id ?? assert.fail(`${prompt} has no job`), { quirks });
    },
  };
}

type Phases = Awaited<ReturnType<typeof openPhases>>;

/** Leaves a task in each phase, and kills the worker. */
async function fillPhases({ db, provider, media, ids, create, changeJob, oldWorker }: Phases) {
  for (const [match, faults] of Object.entries(FAULTS)) {
    await provider.plan({ match, faults, times: 1000 });
  }
  const untilIn = (phase: string, prompt = phase) =>
    until(
      () => sql(db, 'select from tasks where id = $1 and phase = $2', [ids.get(prompt), phase]),
      ({ length }) => length === 1,
    );
  for (const prompt of ['completed', ...Object.keys(FAULTS).slice(0, 5)]) await create(prompt);
  for (const prompt of ['completed', 'failed', 'generating']) await untilIn(prompt);
  await untilIn('held', 'held for its acceptance');
  await untilIn('held', 'held for its outcome');
  await untilIn('generating', 'archiving');
  await provider.plan({ on: 'output', faults: [{ kind: 'refuse', status: 503 }], times: 1000 });
  await changeJob('archiving');
  await untilIn('archiving');
  const image_url = media.serve('/picture.png', { kind: 'stall' });
  await create('ingesting', { mode: 'image-to-video', image_url });
  await untilIn('ingesting');
  await create('in flight');
  await until(async () => (await provider.jobs()).some(({ prompt }) => prompt === 'in flight'));
  await create('submitting');
  await until(async () => (await sql(db, `select from attempts where state = 'rejected'`)).length);
  await oldWorker.kill('SIGKILL');
  await create('reserved');
  media.serve('/picture.png', { kind: 'bytes', bytes: await readFile(PICTURE) });
}

/** Lets all tasks go on. Callbacks go to this API, to the addresses that the previous one made. */
async function release({ provider, proxy, changeJob, wake }: Phases, url: string) {
  proxy.use('api', url);
  await provider.clearPlans();
  await changeJob('generating');
  await changeJob('held for its acceptance', [UNLISTED]);
  await changeJob('held for its outcome');
  await wake('held for its outcome');
}

const ENDED = `select request->>'prompt' as prompt, phase,
    array(select outcome_by from attempts where task_id = tasks.id and state = 'accepted') as by
  from tasks`;

for (const how of ['after its processes', 'beside its processes']) {
  const title = `this version goes on with a task in each phase of a previous commit, ${how}`;
  test(title, UPGRADE, async (t) => {
    const phases = await openPhases(t);
    const { db, oldApi, read } = phases;
    await fillPhases(phases);
    const { body: old } = await read(oldApi.url, 'completed');
    const newApi = await phases.startNew('api');
    await phases.startNew('worker');
    const apis = how.startsWith('beside') ? [oldApi, newApi] : [newApi];
    if (apis.includes(oldApi)) await phases.startOld('worker');
    else await oldApi.kill('SIGTERM');
    await release(phases, newApi.url);
    for (const [i, api] of apis.entries()) await phases.create(`while both serve, ${i}`, {}, api);
    const ended = await until(
      () => sql<{ prompt: string; phase: string; by: string[] }>(db, ENDED),
      (tasks) => tasks.every(({ phase }) => phase === 'completed' || phase === 'failed'),
      120,
    );
    assert.deepEqual(ended.map(({ prompt }) => prompt).sort(), [...phases.ids.keys()].sort());
    for (const { prompt, phase, by } of ended) {
      const expected = prompt === 'failed' ? 'failed' : 'completed';
      assert.deepEqual([prompt, phase, by.length], [prompt, expected, 1]);
      if (prompt === 'held for its acceptance') assert.deepEqual(by, ['callback']);
      for (const { url } of apis) assert.equal((await read(url, prompt)).body.status, expected);
    }
    assert.equal((await phases.provider.jobs()).length, ended.length, 'one job for each task');
    assert.equal((await fetch(old.output.video_url)).status, 200, 'a link of the previous version');
    assert.deepEqual(await audit(db), { ok: true, problems: [] });
  });
}
