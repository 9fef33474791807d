import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { eraseOf } from '../../catalog/presets.ts';
import { balances, grant } from '../../ledger/ledger.ts';
import { audit } from '../../operator/audit.ts';

const BODY = { prompt: 'a lighthouse at dawn' };
const PRICE = 250;

after(async () => assert.deepEqual(await audit(db), { ok: true, problems: [] }));
const website = await openTestWebsite();
const { db } = website.database;

async function visitorWith(paid: number, promotional = 0): Promise<TestVisitor> {
  const visitor = await website.signIn({ credits: paid });
  const { accountId } = visitor;
  const given = { accountId, kind: 'promotional', reference: accountId } as const;
  if (promotional > 0) await grant(db, { ...given, credits: promotional });
  return visitor;
}

const create = (visitor: TestVisitor, body: unknown = BODY, key?: string, mode?: Mode) =>
  visitor.create(body, key, mode);

test('a create responds at once with the task, and its credits by kind', async () => {
  const visitor = await visitorWith(1000, 100);
  const { status, body, headers } = await create(visitor, { ...BODY, seed: 7 });
  assert.equal(status, 202);
  const { id, created_at, updated_at, now } = body;
  assert.match(id, /^task_/);
  for (const time of [created_at, updated_at, now]) assert.ok(Date.parse(time));
  assert.partialDeepStrictEqual(body, {
    surface: 'web',
    status: 'processing',
    phase: 'reserved',
    charge: 'reserved',
    label: 'Waiting to start',
    held: null,
    model: 'video-2.0-fast',
    mode: 'text-to-video',
    video_url: null,
    video: null,
    failure: null,
    credits_used: PRICE,
    promotional_credits: 100,
    request: {
      mode: 'text-to-video',
      model: 'video-2.0-fast',
      prompt: BODY.prompt,
      seed: 7,
      aspect_ratio: '16:9',
      duration: 5,
      resolution: '720p',
      generate_audio: true,
    },
  });
  const shown = await visitor.get(`/console/api/tasks/${id}`);
  assert.deepEqual({ ...body, ...shown.body, now }, body);
  assert.equal(shown.body.request_id, headers['x-request-id']);
  const me = await visitor.get('/console/api/me');
  assert.deepEqual(me.body.credits, { paid: 850, promotional: 0, reserved: 250, owed: 0 });
});

test('a page learns by the Idempotency-Key whether a request of its mode has arrived', async () => {
  const visitor = await visitorWith(PRICE);
  const key = crypto.randomUUID();
  const look = (who: TestVisitor, mode: Mode) =>
    who.get(`/console/api/idempotency-keys/${key}?mode=${mode}`);
  assertError(await look(visitor, 'live'), 'not_found');
  const { id } = (await create(visitor, BODY, key)).body;
  assert.equal((await look(visitor, 'live')).body.id, id);
  assertError(await look(visitor, 'test'), 'not_found');
  assertError(await look(await visitorWith(0), 'live'), 'not_found');
});

test('the rules of the request are those of the public API', async () => {
  const visitor = await visitorWith(1000);
  const image_url = 'https://media.example/a.png';
  const mode = 'image-to-video';
  const cases: [body: object, field: string, reason: string][] = [
    [{ resolution: '4k' }, 'resolution', 'not_offered'],
    [{ image_url }, 'image_url', 'not_accepted_in_mode'],
    [{ mode, image_url: 'http://media.example/a.png' }, 'image_url', 'not_https'],
    [{ mode, image_url: 'upload:../secret' }, 'image_url', 'unknown_upload'],
  ];
  for (const [given, field, reason] of cases) {
    const response = await create(visitor, { ...BODY, ...given });
    assertError(response, 'invalid_request', { field, reason });
  }
  const reason = 'unknown_upload';
  const two = { image_url: 'upload:obj_unknown', end_image_url: 'upload:obj_other' };
  const inputs = [
    { field: 'image_url', reason },
    { field: 'end_image_url', reason },
  ];
  assertError(await create(visitor, { ...BODY, mode, ...two }), 'invalid_request', { inputs });
  const malformed = await create(visitor, BODY, 'a b');
  assertError(malformed, 'invalid_request', { field: 'Idempotency-Key' });
  const { paid } = await balances(db, visitor.accountId);
  assert.equal(paid.reserved, 0);
});

test('a paused account creates nothing live on the website, and test videos as before', async () => {
  const visitor = await visitorWith(1000);
  const insert = `insert into account_pauses (account_id, paused_until)
    values ($1, clock_now() + interval '1 hour')`;
  await sql(db, insert, [visitor.accountId]);
  assertError(await create(visitor), 'service_busy', { reason: 'account_paused' });
  const tested = await create(visitor, BODY, undefined, 'test');
  assert.notEqual(tested.body.error?.details.reason, 'account_paused');
});

test('an account creates at most 30 videos a minute on the website', async () => {
  const visitor = await visitorWith(0);
  for (let n = 0; n < 30; n += 1) assertError(await create(visitor), 'insufficient_credits');
  const refused = await create(visitor);
  assertError(refused, 'rate_limited');
  assert.ok(Number(refused.headers['retry-after']) > 0);
});

const PRICED = {
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 10,
  reference_video_durations: [],
};
const HOOK = { url: 'https://hooks.example/', events: ['task.failed'], description: 'mine' };

type Mode = 'live' | 'test';

/** Everything that the pages read of one mode, without the times of the reads. */
async function sideOf(visitor: TestVisitor, mode: Mode): Promise<string> {
  const paths = ['me', 'tasks', 'usage', 'statement', 'keys', 'task-filters', 'webhooks'];
  paths.push('statement.csv', 'usage.csv');
  const read = paths.map((path) => visitor.get(`/console/api/${path}?mode=${mode}`));
  const quote = visitor.write(`/console/api/price?mode=${mode}`, PRICED);
  const money = mode === 'live' ? [visitor.get('/console/api/credits')] : [];
  const all = await Promise.all([...read, quote, ...money]);
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
  return JSON.stringify(all.map(({ body }) => body));
}

/** Does everything that a page can do in one mode. */
async function actIn(visitor: TestVisitor, mode: Mode): Promise<string> {
  const { status, body } = await create(visitor, BODY, 'the-same', mode);
  assert.equal(status, 202, JSON.stringify(body));
  assert.equal((await create(visitor, BODY, 'the-same', mode)).body.id, body.id);
  await visitor.write('/console/api/keys', { name: 'ci', mode });
  const hook = await visitor.write(`/console/api/webhooks?mode=${mode}`, HOOK);
  assert.equal(hook.body.mode, mode);
  if (mode === 'test') await visitor.write('/console/api/test-credits');
  return body.id;
}

test('a live request never reads or spends test credits, and a test request only these', async () => {
  const visitor = await visitorWith(1000, 100);
  const liveBefore = await sideOf(visitor, 'live');
  const testBefore = await sideOf(visitor, 'test');
  const testTask = await actIn(visitor, 'test');
  assert.equal(await sideOf(visitor, 'live'), liveBefore);
  const testAfter = await sideOf(visitor, 'test');
  assert.notEqual(testAfter, testBefore);
  const liveTask = await actIn(visitor, 'live');
  assert.equal(await sideOf(visitor, 'test'), testAfter);
  assert.notEqual(await sideOf(visitor, 'live'), liveBefore);
  const rows = await sql(
    db,
    `select task.id, task.surface, task.provider, array_agg(t.kind order by t.kind) as kinds
     from tasks task join ledger_transfers t on t.reference like 'reserve:' || task.id || '%'
     where task.account_id = $1 group by 1, 2, 3 order by 1`,
    [visitor.accountId],
  );
  assert.deepEqual(rows, [
    { id: testTask, surface: 'test', provider: 'scripted', kinds: ['test'] },
    { id: liveTask, surface: 'web', provider: 'local', kinds: ['paid', 'promotional'] },
  ]);
});

test('a test create without enough test credits, and a wrong mode, spend nothing', async () => {
  const visitor = await visitorWith(1000);
  const insert = `insert into ledger_balances (account_id, kind) values ($1, 'test')`;
  await sql(db, insert, [visitor.accountId]);
  const before = await sideOf(visitor, 'live');
  assertError(await create(visitor, BODY, undefined, 'test'), 'insufficient_credits');
  const limited = { prompt: 'a harbour test-rate-limited' };
  assertError(await create(visitor, limited, undefined, 'test'), 'rate_limited');
  for (const wrong of ['?mode=TEST', '?mode=', '?mode=live&mode=test']) {
    assertError(await visitor.get(`/console/api/me${wrong}`), 'invalid_request');
    assertError(await visitor.write(`/console/api/price${wrong}`, PRICED), 'invalid_request');
  }
  assert.equal(await sideOf(visitor, 'live'), before);
});

test('presets are an account’s own, at most fifty, and erased with it', async () => {
  const visitor = await website.signIn();
  const other = await website.signIn();
  const presets = '/console/api/presets';
  const save = (name: string, request: object) => visitor.write(presets, { name, request }, 'PUT');
  const named = async (who = visitor) =>
    (await who.get(presets)).body.items.map((one: { name: string }) => one.name);
  await save('b', { duration: 5 });
  await save(' A/1 ', { prompt: 'A boat', seed: 4 });
  await save('b', { duration: 8, reference_video_urls: ['upload:obj_1'] });
  assert.partialDeepStrictEqual((await visitor.get(presets)).body.items, [
    { name: 'A/1', request: { prompt: 'A boat', seed: 4 } },
    { name: 'b', request: { duration: 8, reference_video_urls: ['upload:obj_1'] } },
  ]);
  assert.deepEqual(await named(other), []);
  assertError(await other.delete(`${presets}?name=b`), 'not_found');
  for (const [name, request] of [
    ['', {}],
    ['x'.repeat(81), {}],
    ['c', { colour: 'red' }],
    ['c', { duration: 'long' }],
  ] as const) {
    assertError(await save(name, request), 'invalid_request');
  }
  await save('.', {});
  for (const name of ['A/1', '.']) {
    const query = new URLSearchParams({ name });
    assert.equal((await visitor.delete(`${presets}?${query}`)).status, 200);
  }
  for (let i = 0; i < 49; i += 1) await save(`p${i}`, {});
  assertError(await save('one more', {}), 'invalid_request');
  assert.equal((await save('b', {})).status, 200, 'one that is there can be replaced');
  await db.transaction((tx) => eraseOf(tx, visitor.accountId));
  assert.deepEqual(await named(), []);
});

test('the price is that of a create, split into promotional and paid credits', async () => {
  const visitor = await visitorWith(100, 60);
  const quote = (body: object = {}) => visitor.write('/console/api/price', { ...PRICED, ...body });
  const priced = await quote();
  const available = { promotional: 60, paid: 100 };
  const expected = { credits: 150, promotional: 60, paid: 90, is_affordable: true, available };
  assert.deepEqual(priced.body, expected);
  const three = await quote({ count: 3 });
  const all = { credits: 450, promotional: 60, paid: 390, is_affordable: false, available };
  assert.deepEqual(three.body, all);
  const referenced = await quote({ reference_video_durations: [3, 5] });
  const more = { credits: 180, promotional: 60, paid: 120, is_affordable: false, available };
  assert.deepEqual(referenced.body, more);
  for (const wrong of [{ resolution: '4k' }, { duration: 3 }, { count: 5 }]) {
    assertError(await quote(wrong), 'invalid_request');
  }
  assertError(await website.stranger.write('/console/api/price', PRICED), 'unauthorized');
});
