import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { onReport } from '../../src/telemetry/reports.ts';
import type { ApiResponse } from '../client.ts';
import { longTest } from '../long.ts';
import { betweenRenderAndArchive, imageBytes, openMediaFixture } from '../media/media-fixture.ts';
import { FRAMES } from '../media/refused-media.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { mountSmallDisk } from './small-disk.ts';

const DISK_BYTES = 32 * 2 ** 20;
const CREDITS = 60;

const folder = await temporaryFolder();
const disk = await mountSmallDisk(path.join(folder.path, 'data'), DISK_BYTES);
const skip = disk.excuse ?? false;
const fixture =
  skip === false
    ? await openMediaFixture({ dataDir: disk.path, environment: { CONTENT_CREDENTIALS: 'on' } })
    : undefined;
after(async () => {
  await fixture?.close().finally(() => disk[Symbol.asyncDispose]());
  await folder[Symbol.asyncDispose]();
});

test('a disk too full for a task: nothing is reserved, and the same key works later', {
  skip,
}, async () => {
  assert.ok(fixture);
  const { url } = fixture;
  const customer = await fixture.customer(CREDITS);
  const body = { ...FRAMES, mode: 'text-to-video' };
  const readiness = async () => (await fetch(`${url}/readyz`)).status;
  assert.equal(await readiness(), 200);
  const freeDisk = await disk.fill();
  const notReady = await fetch(`${url}/readyz`);
  assert.deepEqual(
    [notReady.status, await notReady.json()],
    [503, { status: 'not ready', disk: 'full' }],
  );
  await measured();
  const key = crypto.randomUUID();
  const busy = await customer.create(body, key);
  assert.equal(busy.status, 503, JSON.stringify(busy.body));
  assert.equal(busy.body.error.details.reason, 'not_taken');
  assert.ok(Number(busy.headers.get('retry-after')) > 0);
  assert.equal((await customer.credits()).body.available_credits, CREDITS);
  await freeDisk();
  assert.equal(await readiness(), 200);
  await measured();
  await assertCompletes(await customer.create(body, key));
});

async function assertCompletes(accepted: ApiResponse): Promise<void> {
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  const settled = await fixture?.settled(accepted.body.id);
  assert.equal(settled?.phase, 'completed');
}

/** Waits until the service has measured its disk twice: the first measurement may be older. */
async function measured(): Promise<void> {
  for (const _ of [1, 2]) {
    const next = Promise.withResolvers<void>();
    const forget = onReport('disk', () => next.resolve());
    await next.promise.finally(forget);
  }
}

const INPUTS = 'a disk too full for the inputs: the task is refunded, and the same key works later';
longTest(INPUTS, { skip }, async () => {
  assert.ok(fixture);
  const bytes = await imageBytes('png', 864, 496);
  const arrival = Promise.withResolvers<void>();
  const next = { kind: 'bytes', bytes } as const;
  const later = { kind: 'after', moment: arrival.promise, next } as const;
  const image_url = fixture.host.serve('/picture.png', later);
  const customer = await fixture.customer(CREDITS);
  const key = crypto.randomUUID();
  const creating = customer.create({ ...FRAMES, image_url }, key);
  await fixture.host.requested('/picture.png');
  const freeDisk = await disk.fill();
  arrival.resolve();
  const busy = await creating;
  assert.equal(busy.status, 503, JSON.stringify(busy.body));
  assert.equal(busy.body.error.code, 'service_busy');
  assert.equal(busy.body.error.details.credits, 'refunded');
  assert.ok(Number(busy.headers.get('retry-after')) > 0);
  assert.equal((await customer.credits()).body.available_credits, CREDITS);

  await freeDisk();
  await measured();
  await assertCompletes(await customer.create({ ...FRAMES, image_url }, key));
});

const FAILED = "select from tasks where phase = 'archiving' and internal_failures > 0";
for (const [what, copies, full] of [
  ['output', 0, FAILED],
  ['signed copy of the output', 1, FAILED],
  ['render', undefined, 'select from local_jobs where renders > 0'],
] as const) {
  longTest(
    `a disk too full for the ${what}: the task waits and loses nothing`,
    { skip },
    async () => {
      assert.ok(fixture);
      const { db } = fixture;
      const customer = await fixture.customer(CREDITS);
      const { status, body } = await customer.create({ ...FRAMES, mode: 'text-to-video' });
      assert.equal(status, 202);
      let freeDisk = async () => {};
      const fill = async (leftBytes = 0) => {
        freeDisk = await disk.fill(leftBytes);
      };
      const signings: string[] = [];
      const forget = onReport('signing', ({ outcome }) => signings.push(outcome));
      const leaveRoom = async (render: string) => {
        const { size } = await stat(render);
        await fill(copies === 0 ? 0 : size + 4096);
      };
      await (copies === undefined ? fill() : betweenRenderAndArchive(fixture, body.id, leaveRoom));
      await until(async () => (await sql(db, full)).length > 0);
      assert.deepEqual(signings.slice(0, 1), copies === 1 ? ['failed'] : []);
      assert.equal((await customer.task(body.id)).body.status, 'processing');
      await freeDisk();
      const { phase } = await fixture.settled(body.id);
      assert.equal(phase, 'completed');
      forget();
      await until(fixture.storedFiles, (names) => names.every((name) => name.startsWith('obj_')));
    },
  );
}
