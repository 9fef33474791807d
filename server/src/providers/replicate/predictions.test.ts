import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startCannedHost } from '../../../test/providers/canned-host.ts';
import { findInput, input, jobSpec } from '../../../test/providers/job-spec.ts';
import { callOnce, createPooledCalls } from '../../outbound/call.ts';
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import { REPLICATE_MODELS, replicateInput } from './model-input.ts';
import { createReplicateProvider } from './replicate.ts';
import type { ReplicateOptions } from './settings.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const PREDICTIONS = '/v1/predictions';
const WEBHOOK = 'https://video.example.com/callbacks/replicate/att_1.token';

const host = await startCannedHost();
after(() => host.close());
beforeEach(() => host.requests.splice(0));

function replicate(changes: Partial<ReplicateOptions> = {}) {
  return createReplicateProvider({
    apiToken: 'r8_token',
    models: REPLICATE_MODELS,
    call: callOnce,
    readCall: createPooledCalls(),
    guardedFetch: createGuardedFetch({ allow: new Set() }),
    submitTimeoutSeconds: 5,
    now: () => NOW,
    baseUrl: host.url,
    ...changes,
  });
}

function row(id: string, changes: Record<string, unknown> = {}) {
  const input = replicateInput(jobSpec());
  const created_at = new Date(NOW - 4500).toISOString();
  return {
    id,
    model: 'bytedance/seedance-2.0-fast',
    status: 'starting',
    input,
    created_at,
    ...changes,
  };
}

function found(rows: unknown[], changes: Partial<ReplicateOptions> = {}, taken: string[] = []) {
  host.respond(PREDICTIONS, { json: { previous: null, next: null, results: rows } });
  return replicate(changes).find(findInput(jobSpec(), NOW - 4000, taken));
}

test('a lost prediction is found by its webhook, even beside similar ones', async () => {
  const other = row('b', { webhook: WEBHOOK.replace('att_1', 'att_12') });
  const outcome = await found([other, row('a', { webhook: WEBHOOK, input: {} })]);
  assert.deepEqual(outcome, { kind: 'found', jobId: 'a', by: 'mark' });
  const query = host.requests[0]?.url.searchParams;
  assert.ok(Date.parse(query?.get('created_after') ?? '') < NOW - 5000);
  assert.ok(Date.parse(query?.get('created_before') ?? '') > NOW - 4000);
});

test('a webhook URL with the attempt’s id is its mark, whatever the host, secret and model were', async () => {
  const webhooks = [
    'https://video.example.com/callbacks/replicate/att_1.signed-with-an-older-secret',
    'https://other.example/a/prefix/callbacks/replicate/att_1.token?x=1',
  ];
  for (const webhook of webhooks) {
    const outcome = await found([row('a', { webhook, model: 'a/former-model' })]);
    assert.deepEqual(outcome, { kind: 'found', jobId: 'a', by: 'mark' }, webhook);
  }
});

test('if webhooks are not shown, everything that was sent must be equal', async () => {
  const input = { ...replicateInput(jobSpec()), reference_audios: [] };
  const rows = [
    row('a', { input }),
    row('b', { input: { ...input, seed: 1 } }),
    row('c', { model: 'bytedance/seedance-2.0' }),
  ];
  assert.deepEqual(await found(rows), { kind: 'found', jobId: 'a', by: 'likeness' });
});

test('a link to an input is a mark, even with a new signature', async () => {
  const own = (signature: string, id = 'a') =>
    jobSpec({ mode: 'image-to-video', inputs: [input('first_frame', id, signature)] });
  const rows = [
    row('a', { input: replicateInput(own('first')) }),
    row('b', { input: replicateInput(own('first', 'b')) }),
  ];
  host.respond(PREDICTIONS, { json: { next: null, results: rows } });
  const outcome = await replicate().find(findInput(own('second'), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'a', by: 'mark' });
});

test('the prediction with the mark is found, even beside a similar one without a mark', async () => {
  const outcome = await found([row('b'), row('a', { webhook: WEBHOOK })]);
  assert.deepEqual(outcome, { kind: 'found', jobId: 'a', by: 'mark' });
});

test('two equal predictions are ambiguous until one belongs to another attempt', async () => {
  const rows = [row('a'), row('b'), row('a')];
  assert.deepEqual(await found(rows), { kind: 'ambiguous', jobIds: ['a', 'b'] });
  assert.deepEqual(await found(rows, {}, ['b']), { kind: 'found', jobId: 'a', by: 'likeness' });
});

test('absence is only a hint, unless an operator knows how soon the list shows everything', async () => {
  assert.deepEqual(await found([]), { kind: 'absent', proof: 'weak' });
  const sure = { listLagSeconds: 60 };
  assert.equal(replicate(sure).capabilities.findLagSeconds, 60);
  assert.deepEqual(await found([], sure), { kind: 'absent', proof: 'strong' });
});

test('a prediction whose input was removed may be the job, so absence stays a hint', async () => {
  const removed = row('a', { input: {}, data_removed: true });
  const sure = { listLagSeconds: 60 };
  assert.deepEqual(await found([removed], sure), { kind: 'absent', proof: 'weak' });
  assert.deepEqual(await found([removed], sure, ['a']), { kind: 'absent', proof: 'strong' });
});

test('a prediction of another configuration may be the job, so absence stays a hint', async () => {
  const sure = { listLagSeconds: 60 };
  const proofBeside = async (changes: Record<string, unknown>) => {
    const outcome = await found([row('a', changes)], sure);
    assert.ok(outcome.kind === 'absent', JSON.stringify(outcome));
    return outcome.proof;
  };
  const other = { input: { ...replicateInput(jobSpec()), seed: 1 } };
  assert.equal(await proofBeside(other), 'strong');
  assert.equal(await proofBeside({ ...other, model: 'a/former-model' }), 'weak');
  const webhook = WEBHOOK.replace('att_1', 'att_2');
  assert.equal(await proofBeside({ model: 'a/former-model', webhook }), 'strong');
});

test('a prediction with the same parameters and another link may be the job', async () => {
  const own = (id: string) =>
    jobSpec({ mode: 'image-to-video', inputs: [input('first_frame', id)] });
  const find = () => replicate({ listLagSeconds: 60 }).find(findInput(own('a'), NOW - 4000));
  const sent = replicateInput(own('b'));
  host.respond(PREDICTIONS, { json: { results: [row('a', { input: sent })] } });
  assert.deepEqual(await find(), { kind: 'absent', proof: 'weak' });
  host.respond(PREDICTIONS, { json: { results: [row('a', { input: { ...sent, seed: 1 } })] } });
  assert.deepEqual(await find(), { kind: 'absent', proof: 'strong' });
});

test('a prediction with a malformed id is skipped, and absence is a hint', async () => {
  const sure = { listLagSeconds: 60 };
  const rows = [row('../a', { webhook: WEBHOOK }), row('a\u0000')];
  assert.deepEqual(await found(rows, sure), { kind: 'absent', proof: 'weak' });
  const beside = await found([...rows, row('b')], sure);
  assert.deepEqual(beside, { kind: 'found', jobId: 'b', by: 'likeness' });
});

test('every page of the list is read, each after its turn, before a find returns', async () => {
  let turns = 0;
  const nextListTurn = async () => {
    turns += 1;
  };
  const next = `${host.url}${PREDICTIONS}?cursor=second`;
  host.respond(
    PREDICTIONS,
    { json: { next, results: [row('b', { input: { prompt: 'another' } })] } },
    { json: { next: null, results: [row('a')] } },
  );
  const outcome = await replicate({ nextListTurn }).find(findInput(jobSpec(), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'a', by: 'likeness' });
  assert.equal(host.requests[1]?.url.searchParams.get('cursor'), 'second');
  assert.equal(turns, 2);
});

test('a find reads all that Replicate allows an account to create in its window', async () => {
  const next = `${host.url}${PREDICTIONS}?cursor=again`;
  const others = Array.from({ length: 100 }, () => row('b', { input: { prompt: 'another' } }));
  const pages = Array.from({ length: 26 }, () => ({ json: { next, results: others } }));
  host.respond(PREDICTIONS, ...pages, { json: { next: null, results: [row('a')] } });
  const outcome = await replicate().find(findInput(jobSpec(), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'a', by: 'likeness' });
});

test('a find throws if the list can not be read, and sends the token to no other host', async () => {
  const find = () => replicate().find(findInput(jobSpec(), NOW - 4000));
  const next = `${host.url}${PREDICTIONS}?cursor=again`;
  host.respond(PREDICTIONS, { json: { next, results: [row('a')] } });
  await assert.rejects(find, /more than 50 pages/);
  host.respond(PREDICTIONS, { json: { next: 'https://elsewhere.example/', results: [row('a')] } });
  await assert.rejects(find, /continues on another host/);
  for (const response of [
    { text: '<html>' },
    { json: { results: [{}] } },
    { status: 401, json: {} },
  ]) {
    host.respond(PREDICTIONS, response);
    await assert.rejects(find, /can't be read/);
  }
});
