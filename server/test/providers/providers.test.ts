import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { startSimulator } from '../../../simulators/kit/process.ts';
import { readConfig } from '../../src/config/config.ts';
import { audit } from '../../src/operator/audit.ts';
import { type Service, startService } from '../../src/service.ts';
import { client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase, quiet } from '../database.ts';
import { makeVideo } from '../media/media-files.ts';
import { startMediaHost } from '../media/media-host.ts';
import { serviceEnvironment } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { TEST_CA_FILE } from '../tls/certificates.ts';
import { until } from '../until.ts';
import { workflowWith } from './comfyui-rig.ts';

// One API for each foreign provider and one worker that has all five, on one database.
const NAMES = ['ark', 'fal', 'replicate', 'openrouter', 'comfyui'] as const;
type Name = (typeof NAMES)[number];
const CALLING_BACK: Name[] = ['ark', 'fal', 'openrouter', 'replicate'];

const BODY = {
  model: 'video-2.0',
  prompt: 'A boat that comes home',
  duration: 4,
  resolution: '480p',
  generate_audio: false,
};
const CREDITS = 120;
const PICTURE = new URL('../../../acceptance/media/picture.png', import.meta.url);

const services: Service[] = [];

const [database, host, folder] = await Promise.all([
  createTestDatabase(),
  startMediaHost(),
  temporaryFolder(),
]);
const { text } = await workflowWith('LoadImage', { image: '{{first_frame}}' });
await writeFile(workflowFile(), text);
host.serve('/boat.png', { kind: 'bytes', bytes: await readFile(PICTURE) });
// Made beforehand, because otherwise each simulator would load the encoder.
const result = path.join(folder.path, 'result.mp4');
await makeVideo(result, { width: 864, height: 496, seconds: 4, audio: null });
const options = ['--job-seconds', '0.2', '--output-file', result];
const started = NAMES.map(async (name) => {
  return [name, await startSimulator(name, folder.path, options)] as const;
});
const simulators = new Map(await Promise.all(started));
after(async () => {
  for (const service of services.toReversed()) await service.stop();
  await Promise.all([...(simulators?.values() ?? [])].map((simulator) => simulator.kill()));
  await host?.close();
  await database?.close();
  await folder?.[Symbol.asyncDispose]();
});

/** A template that takes one file, so that the file must have been uploaded. */
function workflowFile(): string {
  return path.join(folder.path, 'workflow.json');
}

function urlOf(name: Name): string {
  return simulators.get(name)?.url ?? '';
}

/** The environment of every process: all five providers, each with its simulator. */
function environment(): Record<string, string> {
  const simulated = NAMES.map((name) => new URL(urlOf(name)).host);
  return serviceEnvironment({
    DATA_DIR: folder.path,
    OUTBOUND_ALLOW: `localhost:${host.port}`,
    PROVIDER_ALLOW: simulated.join(),
    ARK_API_KEY: 'ark-key',
    ARK_BASE_URL: `${urlOf('ark')}/api/v3`,
    FAL_API_KEY: 'fal-key',
    FAL_QUEUE_URL: urlOf('fal'),
    FAL_PLATFORM_URL: urlOf('fal'),
    FAL_JWKS_URL: `${urlOf('fal')}/.well-known/jwks.json`,
    REPLICATE_API_TOKEN: 'r8-token',
    REPLICATE_BASE_URL: urlOf('replicate'),
    OPENROUTER_API_KEY: 'or-key',
    OPENROUTER_BASE_URL: `${urlOf('openrouter')}/api/v1`,
    COMFYUI_BASE_URL: urlOf('comfyui'),
    COMFYUI_WORKFLOWS: workflowFile(),
  });
}

async function start(own: Record<string, string>): Promise<Service> {
  const { db, url } = database;
  const opened = {
    url,
    directUrl: url,
    db,
    created: false,
    exited: new Promise<string>(() => {}),
    close: async () => {},
  };
  const config = readConfig({ ...environment(), ...own });
  const guardedFetch = { ca: await readFile(TEST_CA_FILE, 'utf8') };
  const service = await startService(config, opened, quiet, guardedFetch);
  services.push(service);
  return service;
}

/**
 * ComfyUI gets files by upload, so it gets a request with one. The others would fetch it from the
 * service.
 */
function bodyFor(name: Name | undefined): object {
  if (name !== 'comfyui') return BODY;
  return { ...BODY, mode: 'image-to-video', image_url: host.url('/boat.png') };
}

/** Orders a video from this API, as a new customer, and waits until it is delivered. */
async function orderVideo(api: Service, body: object) {
  const { secret } = await makeCustomer(database.db, CREDITS);
  const own = client(api.url ?? '', secret);
  const created = await own.create(body);
  assert.equal(created.status, 202, JSON.stringify(created.body));
  await until(
    () => phaseOf(created.body.id),
    (phase) => /completed|failed/.test(phase),
  );
  const { body: task } = await own.task(created.body.id);
  assert.equal(task.status, 'completed', JSON.stringify(task));
  const video = await fetch(task.output.video_url);
  const { body: credits } = await own.credits();
  return { task, video: Buffer.from(await video.arrayBuffer()), credits };
}

async function phaseOf(taskId: string): Promise<string> {
  const text = 'select phase from tasks where id = $1';
  const [task] = await sql<{ phase: string }>(database.db, text, [taskId]);
  return task?.phase ?? 'gone';
}

async function providersThatCalledBack(): Promise<string[]> {
  const select = `select distinct provider from evidence join attempts on attempts.id = attempt_id
    where source = 'callback' order by provider`;
  const rows = await sql<{ provider: string }>(database.db, select, []);
  return rows.map(({ provider }) => provider);
}

test('each foreign provider makes a video, which is delivered and paid for once', async () => {
  const apis = await Promise.all(NAMES.map((PROVIDER) => start({ PROVIDER, ROLES: 'api' })));
  await start({ PROVIDER: 'local', ROLES: 'worker', PUBLIC_URL: apis[0]?.url ?? '' });
  const made = await Promise.all(apis.map((api, index) => orderVideo(api, bodyFor(NAMES[index]))));
  for (const { video, credits } of made) {
    assert.equal(video.subarray(4, 8).toString(), 'ftyp');
    assert.equal(credits.available_credits, 0);
  }
  for (const [name, simulator] of simulators) {
    const jobs = await simulator.jobs();
    const prompts = jobs.map(({ prompt }) => prompt);
    assert.deepEqual(prompts, [BODY.prompt], name);
  }
  const requests = await simulators.get('comfyui')?.requests();
  assert.equal(requests?.filter(({ call }) => call === 'upload').length, 1);
  await until(providersThatCalledBack, (providers) => providers.length === CALLING_BACK.length);
  assert.deepEqual(await providersThatCalledBack(), CALLING_BACK);
  assert.deepEqual((await audit(database.db)).problems, []);
});

test('a client can not name the host of a provider that only providers may name', async () => {
  const { secret } = await makeCustomer(database.db, CREDITS);
  const own = client(services[0]?.url ?? '', secret);
  for (const name of NAMES) {
    const image_url = `https://${new URL(urlOf(name)).host}/boat.png`;
    const { status, body } = await own.create({ ...BODY, mode: 'image-to-video', image_url });
    assert.equal(status, 400, JSON.stringify(body));
    const { field, reason, charged } = body.error.details;
    assert.deepEqual([field, reason, charged], ['image_url', 'not_public', 'no']);
  }
});
