import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';
import { deleted, imageBytes, openMediaFixture, videoBytes } from './media-fixture.ts';
import { assertMediaRefused, FRAMES, REFERENCES } from './refused-media.ts';

const fixture = await openMediaFixture();
after(() => fixture.close());
const { host } = fixture;

const bytes = (path: string, content: Uint8Array, headers: Record<string, string> = {}) =>
  host.serve(path, { kind: 'bytes', bytes: content, headers });
const redirect = (path: string, to: string) => host.serve(path, { kind: 'redirect', to });

const png = await imageBytes('png');
const picture = bytes('/picture.png', png);
const missing = host.url('/missing.png');

async function assertRefusedAll(t: test.TestContext, table: [string, object, object][]) {
  const cases = table.map(([title, body, details]) =>
    t.test(title, async () => void (await assertMediaRefused(fixture, body, details))),
  );
  await Promise.all(cases);
}

/** A request for one frame, and what its refusal says. */
function frame(image_url: string, reason: string, more: object = {}) {
  return [
    { ...FRAMES, image_url },
    { field: 'image_url', reason, ...more },
  ] as const;
}

test('no name and no redirect leads to an address that is not public, or to nothing', {
  concurrency: 4,
}, async (t) => {
  const before = host.connectionCount();
  const named = (name: string) => frame(`https://${name}:${host.port}/picture.png`, 'not_public');
  await assertRefusedAll(t, [
    ['a name of a loopback address', ...named('private.test')],
    ['a name of a public and a private address', ...named('half.private.test')],
  ]);
  assert.equal(host.connectionCount(), before, 'no connection was made');
  const once = { redirects: 1 };
  const metadata = redirect('/to/1', 'https://169.254.169.254/latest/meta-data/');
  const named404 = { http_status: 404, ...once };
  await assertRefusedAll(t, [
    ['not found', ...frame(missing, 'not_reachable', { http_status: 404 })],
    ['a closed port', ...frame('https://localhost:1/a.png', 'not_reachable')],
    ['a redirect to the metadata address', ...frame(metadata, 'not_public', once)],
    ['to nothing', ...frame(redirect('/to/2', '/missing.png'), 'not_reachable', named404)],
    ['to itself', ...frame(redirect('/to/3', '/to/3'), 'too_many_redirects', { limit: 5 })],
  ]);
});

/** A download without a response would end by itself only later, after 20 seconds. */
const STALL_SECONDS = 15;

test('the first refusal is reported two seconds later, whatever happens to the other inputs', async () => {
  const never = host.serve('/never.png', { kind: 'stall' });
  const later = host.serve('/later.png', {
    kind: 'after',
    moment: host.requested('/never.png'),
    next: { kind: 'bytes', bytes: png, status: 503 },
  });
  const reason = { reason: 'not_reachable', http_status: 503 };
  const endFails = { ...FRAMES, image_url: never, end_image_url: later };
  const firstFails = { ...FRAMES, image_url: later, end_image_url: never };
  const startedAt = performance.now();
  await Promise.all([
    assertMediaRefused(fixture, endFails, { field: 'end_image_url', ...reason }),
    assertMediaRefused(fixture, firstFails, { field: 'image_url', ...reason }),
  ]);
  const seconds = (performance.now() - startedAt) / 1000;
  assert.ok(seconds < STALL_SECONDS, `it took ${seconds} s`);
});

test('each refused file has its own entry, with what was measured', async () => {
  const short = await videoBytes({ width: 480, height: 480, seconds: 3, fps: 6 });
  const small = await videoBytes({ width: 320, height: 240, seconds: 2, fps: 6 });
  const { promise: pictureStored, resolve: setStored } = Promise.withResolvers<void>();
  const notFound = { kind: 'bytes', bytes: Buffer.from('not found'), status: 404 } as const;
  const late = host.serve('/late.png', { kind: 'after', moment: pictureStored, next: notFound });
  const [images, videos] = ['reference_image_urls', 'reference_video_urls'];
  const measured = { declared_seconds: 2, measured_seconds: 3, measured_seconds_exact: 3 };
  const customer = await fixture.customer(10_000);
  const assertRefused = async (body: object, expected: object[]) => {
    const refused = await until(
      () => customer.create({ ...REFERENCES, ...body }),
      // On a busy machine the other file may not be checked two seconds after the first refusal.
      (response) => response.body.error?.details.inputs.length === expected.length,
    );
    assert.equal(refused.status, 400, JSON.stringify(refused.body));
    const { inputs, field, entry, reason, task_id: taskId } = refused.body.error.details;
    assert.partialDeepStrictEqual(inputs, expected);
    const first = inputs.find(
      (one: { field: string; index: number }) => one.field === field && one.index === entry,
    );
    assert.equal(first.reason, reason);
    assert.equal((await customer.credits()).body.available_credits, 10_000);
    await deleted(fixture, taskId);
  };
  const refusedImages = assertRefused(
    { [images]: [late, picture, bytes('/page', Buffer.from('a page'))] },
    [
      { field: images, index: 0, reason: 'not_reachable', http_status: 404 },
      { field: images, index: 2, reason: 'not_an_image' },
    ],
  );
  await Promise.race([refusedImages, until(fixture.storedFiles, hasObject)]);
  setStored();
  await refusedImages;
  await assertRefused(
    {
      [videos]: [bytes('/short.mp4', short), bytes('/small.mp4', small)],
      reference_video_durations: [2, 2],
    },
    [
      { field: videos, index: 0, reason: 'duration_mismatch', ...measured },
      { field: videos, index: 1, reason: 'short_side_out_of_range', width: 320, height: 240 },
    ],
  );
});

const hasObject = (files: string[]) => files.some((name) => name.startsWith('obj_'));

test('one bad reference of eight refunds the task and deletes the good ones', async () => {
  const { promise: othersStored, resolve: setStored } = Promise.withResolvers<void>();
  const bad = host.serve('/bad.png', {
    kind: 'after',
    moment: othersStored,
    next: { kind: 'bytes', bytes: Buffer.from('bad') },
  });
  const urls = Array.from({ length: 8 }, (_, entry) => (entry === 5 ? bad : picture));
  const body = { ...REFERENCES, reference_image_urls: urls };
  const expected = { field: 'reference_image_urls', entry: 5, reason: 'not_an_image' };
  const refused = assertMediaRefused(fixture, body, expected);
  await until(
    fixture.storedFiles,
    (files) => files.filter((name) => name.startsWith('obj_')).length === 7,
  );
  setStored();
  const taskId = await refused;
  await deleted(fixture, taskId);
  const task = await fixture.settled(taskId);
  assert.deepEqual(
    task.objects.map(({ role, state }) => ({ role, state })),
    Array.from({ length: 7 }, () => ({ role: 'input', state: 'deleted' })),
  );
});

test('nothing is fetched for what is refused before credits are reserved', async () => {
  const customer = await fixture.customer(60);
  const cases: [object, object][] = [
    [{ image_url: 'https://10.0.0.1/a.png' }, { field: 'image_url', reason: 'not_public' }],
    [
      { mode: 'media-to-video', reference_image_urls: [picture, 'https://169.254.169.254/'] },
      { field: 'reference_image_urls', entry: 1, reason: 'not_public' },
    ],
  ];
  const seen = host.connectionCount();
  const key = crypto.randomUUID();
  for (const [fields, expected] of cases) {
    const refusal = await customer.create({ ...FRAMES, ...fields }, key);
    const { inputs: _, ...details } = refusal.body.error.details;
    const all = { ...expected, charged: 'no', retry: 'never' };
    assert.deepEqual([refusal.status, details], [400, all]);
  }
  const unpaid = await (await fixture.customer(59)).create({ ...FRAMES, image_url: picture });
  assert.equal(unpaid.status, 402);
  assert.equal(host.connectionCount(), seen, 'nothing was fetched');
  assert.equal((await customer.credits()).body.available_credits, 60);
  const accepted = await customer.create({ ...FRAMES, mode: 'text-to-video' }, key);
  assert.equal(accepted.status, 202, 'the key was not bound');
  await fixture.settled(accepted.body.id);
});

test('nothing of refused requests is left in storage or in the scratch directory', async () => {
  const text = "select id from tasks where phase <> 'completed'";
  for (const { id } of await sql<{ id: string }>(fixture.db, text)) await deleted(fixture, id);
  const text2 = "select id from stored_objects where state <> 'deleted'";
  const kept = await sql<{ id: string }>(fixture.db, text2);
  assert.deepEqual((await fixture.storedFiles()).sort(), kept.map(({ id }) => id).sort());
});
