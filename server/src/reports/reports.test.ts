import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { assertError } from '../../test/envelope.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { sql } from '../../test/task-fixtures.ts';
import { taskMaker } from '../../test/website/own-tasks.ts';
import { ORIGIN, openTestWebsite, type TestVisitor } from '../../test/website/website.ts';
import { readFigures } from '../operator/listings/figures.ts';
import { REPORTS } from '../operator/verbs/reports.ts';
import { deleteMarked } from '../storage/objects.ts';
import { takeDownObjectsOf } from '../storage/removal.ts';
import { forgetReporters } from './reports.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const OPERATOR = '/console/api/operator';

const website = await openTestWebsite();
const { db } = website.database;
const make = taskMaker(website.deps);
/** Signs in each time, since the tests set the clock on by months. */
const asOperator = () => website.signIn({ isOperator: true });

let owner: TestVisitor;
let taskId = '';
let objectId = '';
let networks = 0;
beforeEach(async () => {
  await freezeClock(db, 0);
  await sql(db, 'delete from reports');
  await sql(db, 'delete from request_windows');
  owner = await website.signIn({ credits: 1000 });
  taskId = await make(owner.accountId, { ended: 'completed' });
  const update = `update stored_objects set sha256 = $2 where owner_id = $1 returning id`;
  const [row] = await sql<{ id: string }>(db, update, [taskId, hash('sha256', taskId)]);
  objectId = row?.id ?? '';
  website.outbox.length = 0;
});

const REPORT = { video: 'a page', reason: 'copyright', evidence: 'It is mine.' };

/** Each report comes from another network. */
function report(given: object = {}) {
  networks += 1;
  return website.stranger.send({
    method: 'POST',
    url: '/console/api/reports',
    remoteAddress: `10.1.0.${networks}`,
    payload: JSON.stringify({ ...REPORT, ...given }),
    headers: { 'content-type': 'application/json' },
  });
}

async function receiptOf(given?: object): Promise<string> {
  const { status, body } = await report(given);
  assert.equal(status, 200, JSON.stringify(body));
  return body.receipt;
}

async function decide(
  verb: 'keep' | 'take-down' | 'close-account',
  id: string,
  reason = 'ticket 97',
  given: object = {},
) {
  return (await asOperator()).write(`${OPERATOR}/verbs/reports/${verb}`, { id, reason, ...given });
}

const shown = async (id: string) =>
  (await (await asOperator()).get(`${OPERATOR}/reports/${id}`)).body;

async function mails(): Promise<{ to: string; subject: string; text: string }[]> {
  await website.sendMails();
  return website.outbox.splice(0).sort((a, b) => a.to.localeCompare(b.to));
}

test('a video is named by link, id or digest, and no response tells whether it was found', async () => {
  const digest = hash('sha256', taskId);
  const none = 'A'.repeat(24);
  for (const [video, isFound] of [
    [`${ORIGIN}/media/${objectId}.mp4?expires=1&signature=x`, true],
    [`https://bucket.example/prefix/${objectId}?X-Amz-Expires=300`, true],
    [`${ORIGIN}/videos/${taskId}`, true],
    [`  ${taskId} `, true],
    [digest, true],
    [digest.toUpperCase(), true],
    [`task_${none}`, false],
    [`obj_${none}`, false],
    ['0'.repeat(64), false],
    ['https://elsewhere.example/a video', false],
  ] as const) {
    const response = await report({ video });
    assert.deepEqual(Object.keys(response.body), ['receipt'], video);
    assert.match(response.body.receipt, /^report_\w{24}$/);
    const { task_id: task, object_id: object, state } = await shown(response.body.receipt);
    assert.deepEqual([task, object], isFound ? [taskId, objectId] : [null, null], video);
    assert.equal(state, 'open');
  }
});

test('an invalid report is refused and not stored', async () => {
  for (const given of [
    { video: '' },
    { video: 'a page\u0000' },
    { video: 'x'.repeat(2049) },
    { reason: 'boredom' },
    { evidence: 'x'.repeat(4001) },
    { email: 'nobody' },
    { account: 'acct_1' },
  ]) {
    assertError(await report(given), 'invalid_request');
  }
  assert.deepEqual(await sql(db, 'select id from reports'), []);
});

test('a network can send ten reports an hour, and a mailbox gets five receipts', async () => {
  const send = () => website.stranger.write('/console/api/reports', REPORT);
  for (let sent = 0; sent < 10; sent += 1) assert.equal((await send()).status, 200);
  assertError(await send(), 'rate_limited');
  for (let sent = 0; sent < 5; sent += 1) {
    await receiptOf({ email: `reporter+${sent}@example.com` });
  }
  assertError(await report({ email: 'Reporter@example.com' }), 'rate_limited');
});

test('an operator keeps a video: its reporter gets a receipt and the decision, its owner nothing', async () => {
  const id = await receiptOf({ video: taskId, email: 'Eve@example.com', reason: 'other' });
  const [receipt] = await mails();
  assert.equal(receipt?.to, 'eve@example.com');
  assert.ok(receipt.text.includes(id) && !receipt.text.includes(REPORT.evidence));
  await freezeClock(db, HOUR);
  assert.equal((await decide('keep', id)).status, 200);
  const [decision, ...others] = await mails();
  assert.deepEqual([decision?.to, others], ['eve@example.com', []]);
  assert.match(decision?.text ?? '', /nothing was removed/);
  const kept = await shown(id);
  assert.deepEqual([kept.state, kept.decisions[0].reason], ['kept', 'ticket 97']);
  assert.match(kept.video_url, /\/media\/obj_/);
  assert.equal((await decide('keep', id)).body.changed, false);
  assertError(await decide('take-down', id), 'invalid_request');
  const { decided } = await readFigures(db);
  assert.deepEqual(decided, [{ reason: 'other', seconds: HOUR }]);
});

test('a takedown decides all reports of the video, and tells only its owner why', async () => {
  const first = await receiptOf({ video: taskId, email: 'eve@example.com' });
  const second = await receiptOf({ video: objectId, email: 'mallory@example.com' });
  const other = await receiptOf({ email: 'mallory@example.org' });
  await mails();
  const decisions = await Promise.all(
    [first, second].map((id) => decide('take-down', id, 'a film of 1999')),
  );
  const counts = decisions.map(({ body }) => `${body.state} ${body.reports} ${body.changed}`);
  assert.deepEqual(counts.sort(), ['taken_down 0 false', 'taken_down 2 true']);
  const sent = await mails();
  const toOwner = sent.find(({ to }) => to === owner.email);
  const toReporters = sent.filter((mail) => mail !== toOwner);
  for (const word of [taskId, 'copyright', 'a film of 1999', 'reply']) {
    assert.ok(toOwner?.text.includes(word), word);
  }
  const addresses = toReporters.map(({ to }) => to);
  assert.deepEqual(addresses, ['eve@example.com', 'mallory@example.com']);
  for (const { text } of toReporters) {
    assert.match(text, /the video was removed/);
    for (const secret of [owner.accountId, owner.email, taskId, '1999']) {
      assert.ok(!text.includes(secret), secret);
    }
  }
  const { state, video_url: url, object_state: stored } = await shown(second);
  assert.deepEqual([state, url, stored], ['taken_down', null, 'deleting']);
  assert.equal((await shown(other)).state, 'open');
  assertError(await decide('take-down', other), 'invalid_request');
});

test('a takedown can disable the account, and the reporter is not told', async () => {
  const id = await receiptOf({
    video: taskId,
    email: 'eve@example.com',
    reason: 'sexualized_minors',
  });
  await mails();
  assert.equal((await decide('close-account', id)).status, 200);
  assertError(await owner.get('/console/api/me'), 'unauthorized');
  const texts = new Map((await mails()).map(({ to, text }) => [to, text]));
  assert.match(texts.get(owner.email) ?? '', /Your account is disabled/);
  assert.match(texts.get('eve@example.com') ?? '', /the video was removed/);
  assert.doesNotMatch(texts.get('eve@example.com') ?? '', /account/);
  const account = (await (await asOperator()).get(`${OPERATOR}/accounts/${owner.accountId}`)).body;
  assert.equal(account.actions[0].command, 'reports close-account');
  assert.notEqual(account.disabled_at, null);
});

test('an urgent report is mailed to the operators, without a word of its reporter', async () => {
  const operator = await asOperator();
  const id = await receiptOf({ video: taskId, reason: 'intimate_images' });
  const [mail, ...others] = (await mails()).filter(({ to }) => to === operator.email);
  assert.deepEqual(others, []);
  const text = mail?.text ?? '';
  assert.ok(text.includes(`${ORIGIN}/operator/reports/${id}`) && !text.includes(REPORT.evidence));
  await receiptOf({ video: taskId });
  assert.deepEqual(await mails(), []);
  for (let sent = 1; sent < 22; sent += 1) await receiptOf({ reason: 'sexualized_minors' });
  const more = (await mails()).filter(({ to }) => to === operator.email);
  assert.equal(more.length, 19, 'twenty in an hour');
});

test('evidence is kept for the days given, listed and not served, also after an erasure', async () => {
  const { storage } = website.deps;
  const isStored = async () => {
    await deleteMarked({ db, storage });
    return (await storage.sizeOf(objectId)) !== undefined;
  };
  const evidence = async () =>
    (await (await asOperator()).get(`${OPERATOR}/verbs/objects/evidence`)).body.items;
  const id = await receiptOf({ video: taskId });
  const url = (await shown(id)).video_url.replace('http://media.test', '');
  const given = { basis: 'own_finding', evidence_days: 30 };
  assert.equal((await decide('take-down', id, 'ticket 99', given)).status, 200);
  const [kept] = await evidence();
  assert.deepEqual([kept.object_id, kept.owner_id], [objectId, taskId]);
  assert.equal(kept.evidence_until, new Date(Date.UTC(2030, 0, 31)).toISOString());
  assert.ok(await isStored());
  assert.deepEqual((await readFigures(db)).deleting, []);
  const decided = await shown(id);
  assert.deepEqual(decided.decisions[0].details, given);
  assert.equal(decided.evidence_until, kept.evidence_until);
  assert.equal((await website.stranger.get(url)).status, 410);
  await db.transaction((tx) => takeDownObjectsOf(tx, [taskId], []));
  await freezeClock(db, 29 * DAY);
  assert.ok(await isStored());
  await freezeClock(db, 31 * DAY);
  assert.ok(!(await isStored()));
  assert.deepEqual(await evidence(), []);
});

test('the queue is oldest first, its age is a metric, and what reporters wrote is forgotten', async () => {
  const first = await receiptOf({ reason: 'intimate_images', email: 'eve@example.com' });
  await freezeClock(db, 3 * DAY);
  const second = await receiptOf({ video: taskId });
  const { items } = (await (await asOperator()).get(`${OPERATOR}/verbs/reports/list`)).body;
  const ids = items.map(({ id }: { id: string }) => id);
  assert.deepEqual(ids, [first, second]);
  const { reports } = await readFigures(db);
  const ages = reports.map(({ reason, oldest_seconds: age }) => [reason, age]).sort();
  assert.deepEqual(ages, [
    ['copyright', 0],
    ['intimate_images', 3 * DAY],
  ]);
  await freezeClock(db, 91 * DAY);
  await forgetReporters(db, 90);
  const { video, contact, evidence, state } = await shown(first);
  assert.deepEqual([video, contact, evidence, state], [null, null, null, 'open']);
  assert.equal((await shown(second)).evidence, REPORT.evidence);
});

test('the export counts by month, and only in the months asked for', async () => {
  const id = await receiptOf({ video: taskId });
  await receiptOf({ reason: 'other' });
  await make(owner.accountId, { ended: 'content_refused' });
  await freezeClock(db, 6 * HOUR);
  await decide('take-down', id, 'court order 7', { basis: 'order' });
  await freezeClock(db, 40 * DAY);
  await receiptOf();
  const counted = async (given: object) => {
    const deps = { db, log: quiet, page: { limit: 1, after: undefined } };
    const action = { command: 'reports export', actor: 'a test', reason: null };
    const months = await REPORTS['reports export'].prepareRequest(given)(deps, action);
    return months.map((row) => JSON.stringify(row));
  };
  const [january, february, ...others] = await counted({});
  assert.deepEqual(others, []);
  for (const part of [
    '"month":"2030-01","reports":2,',
    '"copyright":1,"other":1,"kept":0,"taken_down":1,',
    '"refusals":1,"other_takedowns":0,"orders":1,"median_hours":6',
  ]) {
    assert.ok(january?.includes(part), String(january));
  }
  assert.match(february ?? '', /"2030-02","reports":1,.*"median_hours":null/);
  const asked = await counted({ from: '2030-02-20', to: '2030-02-01' });
  assert.deepEqual(asked, [february]);
});
