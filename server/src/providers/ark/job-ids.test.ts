import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startCannedHost } from '../../../test/providers/canned-host.ts';
import { findInput, jobSpec } from '../../../test/providers/job-spec.ts';
import { callOnce, createPooledCalls } from '../../outbound/call.ts';
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import { createArkProvider } from './ark.ts';
import { BYTEPLUS_MODELS } from './request.ts';

const TASKS = '/contents/generations/tasks';
const NOW = Date.parse('2026-11-21T10:00:00Z');
const BAD_IDS = ['', '..', '../tasks', 'a/b', 'a\u0000', 'x'.repeat(201), 7];

const host = await startCannedHost();
after(() => host.close());

function ark() {
  return createArkProvider({
    baseUrl: host.url,
    apiKey: 'a-key',
    models: BYTEPLUS_MODELS,
    call: callOnce,
    readCall: createPooledCalls(),
    guardedFetch: createGuardedFetch({ allow: new Set() }),
    submitTimeoutSeconds: 5,
    maxOutputBytes: 1000,
    now: () => NOW,
  });
}

test('after a response with a malformed id the outcome of a submit is unknown', async () => {
  for (const id of BAD_IDS) {
    host.respond(TASKS, { json: { id } });
    const outcome = await ark().submit(jobSpec(), () => true);
    assert.equal(outcome.kind, 'unknown', JSON.stringify(id));
  }
  host.respond(TASKS, { json: { id: 'cgt-1' } });
  const accepted = { kind: 'accepted', jobId: 'cgt-1' };
  assert.deepEqual(await ark().submit(jobSpec(), () => true), accepted);
});

test('a task in the list with such an id is skipped', async () => {
  const mark = { safety_identifier: jobSpec().attemptId };
  const items = [...BAD_IDS, 'cgt-1'].map((id) => ({ id, status: 'running', ...mark }));
  host.respond(TASKS, { json: { items, total: items.length } });
  const outcome = await ark().find(findInput(jobSpec(), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'cgt-1', by: 'mark' });
});

test('a callback with such an id names no job', async () => {
  for (const id of BAD_IDS) {
    const body = Buffer.from(JSON.stringify({ id, status: 'running' }));
    const callback = await ark().readCallback?.({ body, headers: {} });
    assert.deepEqual(callback, { kind: 'report', jobId: null, verified: false });
  }
});
