import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { audit } from '../../src/operator/audit.ts';
import { client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { LONG } from '../long.ts';
import { makeHeavyClip } from '../media/heavy-clip.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { startMediaHost } from '../media/media-host.ts';
import { FRAMES, REFERENCES } from '../media/refused-media.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const CREDITS = 10_000;
const FRAMES_PER_CLIP = 3600;
/** The longer side of the clips that decode slowly; 13104 is about the largest that is accepted. */
const WIDTH = LONG ? 13_104 : 4096;
const CREATES = 4;
const CLIPS = 3;
const ALL_FILES = CREATES * CLIPS;
const CLIP_SECONDS = 5;

async function openRig(t: TestContext) {
  const [database, host, folder] = await Promise.all([
    createTestDatabase(),
    startMediaHost(),
    temporaryFolder(),
  ]);
  const service = await startServiceProcess({
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    OUTBOUND_ALLOW: `localhost:${host.port}`,
    CREATE_WAIT_SECONDS: '300',
  });
  t.after(async () => {
    await service.kill('SIGKILL');
    await host.close();
    const { problems } = await audit(database.db);
    await database.close();
    await folder[Symbol.asyncDispose]();
    assert.deepEqual(problems, []);
  });
  const customer = async () => {
    const { secret } = await makeCustomer(database.db, CREDITS);
    return client(service.url, secret);
  };
  return { database, host, folder, customer };
}

type Rig = Awaited<ReturnType<typeof openRig>>;

/** An AV1 clip with 3600 frames in its 5 seconds. */
async function heavyClip({ folder }: Rig) {
  const file = path.join(folder.path, 'heavy.mp4');
  const fps = FRAMES_PER_CLIP / CLIP_SECONDS;
  await makeHeavyClip(file, { width: WIDTH, height: 720, fps, frames: FRAMES_PER_CLIP });
  return readFile(file);
}

/**
 * One account sends four creates, with this clip three times in each.
 * @returns the creates, once all files are downloaded
 */
async function loadWith({ host, folder, customer }: Rig, bytes: Buffer) {
  const url = host.serve('/heavy.mp4', { kind: 'bytes', bytes });
  const body = {
    ...REFERENCES,
    reference_video_urls: Array.from({ length: CLIPS }, () => url),
    reference_video_durations: Array.from({ length: CLIPS }, () => CLIP_SECONDS),
  };
  const one = await customer();
  const creates = Array.from({ length: CREATES }, () => one.create(body));
  await until(
    () => filesOf(bytes.length, path.join(folder.path, 'scratch')),
    (count) => count >= ALL_FILES,
  );
  return creates;
}

/** How many files of this size are in a folder. */
async function filesOf(sizeBytes: number, folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(({ parentPath, name }) => stat(path.join(parentPath, name)).catch(() => null)),
  );
  return sizes.filter((found) => found?.size === sizeBytes).length;
}

/** Another account's create with a small PNG. */
async function createSmall(rig: Rig) {
  const bytes = await imageBytes('png');
  const image_url = rig.host.serve('/small.png', { kind: 'bytes', bytes });
  const customer = await rig.customer();
  const startedAt = performance.now();
  const { status, body } = await customer.create({ ...FRAMES, image_url });
  assert.equal(status, 202, JSON.stringify(body));
  return (performance.now() - startedAt) / 1000;
}

test('a small PNG is accepted while one account queues clips that decode slowly', async (t) => {
  const rig = await openRig(t);
  const creates = await loadWith(rig, await heavyClip(rig));
  const seconds = await createSmall(rig);
  t.diagnostic(`accepted after ${seconds.toFixed(1)} s beside ${creates.length} heavy creates`);
  const ingesting = await sql(rig.database.db, "select id from tasks where phase = 'ingesting'");
  const passed = `${creates.length - ingesting.length} heavy creates were ingested before it`;
  assert.ok(ingesting.length >= creates.length / 2, passed);
  void Promise.allSettled(creates); // they end with the service
});
