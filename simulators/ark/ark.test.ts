import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startSimulator } from '../kit/process.ts';

const TASKS = 'api/v3/contents/generations/tasks';

const BODY = {
  model: 'dreamina-seedance-2-0-260128',
  content: [{ type: 'text', text: 'a heron' }],
  resolution: '480p',
  ratio: '1:1',
  duration: 4,
  generate_audio: false,
};

test('a request that Ark refuses creates no job; jobs survive a SIGKILL; a link works signed and for GET', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'ark-'));
  let ark = await startSimulator('ark', folder, ['--job-seconds', '0']);
  t.after(async () => {
    await ark.kill();
    await rm(folder, { recursive: true });
  });
  const headers = { authorization: 'Bearer key' };
  const create = (changes: object, given: Record<string, string> = headers) => {
    const body = JSON.stringify({ ...BODY, ...changes });
    return fetch(`${ark.url}/${TASKS}`, { method: 'POST', headers: given, body });
  };
  const strange = [{ seed: 7 }, { duration: 3 }, { ratio: 'adaptive' }, { service_tier: 'flex' }];
  for (const changes of strange) {
    assert.equal((await create(changes)).status, 400, JSON.stringify(changes));
  }
  assert.equal((await create({ model: 'seedance-9' })).status, 404);
  assert.equal((await create({}, {})).status, 401);
  assert.deepEqual(await ark.jobs(), []);
  const { id } = Object(await (await create({})).json());
  await ark.kill('SIGKILL');
  ark = await startSimulator('ark', folder, [
    '--port',
    new URL(ark.url).port,
    '--job-seconds',
    '0',
  ]);
  assert.deepEqual(
    (await ark.jobs()).map((job) => job.id),
    [id],
  );
  const shown = await fetch(`${ark.url}/${TASKS}/${id}`, { headers });
  const { video_url: link } = Object(await shown.json()).content;
  const video = Buffer.from(await (await fetch(link)).arrayBuffer());
  assert.equal(video.subarray(4, 8).toString(), 'ftyp');
  assert.notEqual((await fetch(link, { method: 'HEAD' })).status, 200);
  assert.equal((await fetch(link.replace(/expires=\d/, 'expires=9'))).status, 403);
});
