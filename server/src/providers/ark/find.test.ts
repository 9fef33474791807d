import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newSubmission } from '../conformance/attempts.ts';
import type { SoughtAttempt } from '../provider.ts';
import { findJob, listPage, type Page, type Search } from './find.ts';
import { BYTEPLUS_MODELS } from './request.ts';

const NOW = Date.UTC(2026, 8, 1);
const submission = newSubmission();
const attempt: SoughtAttempt = {
  submission,
  sentBetween: { from: NOW - 30_400, to: NOW - 20_000 },
  takenJobIds: async () => new Set(),
};

/** A task that the attempt may well have made. */
function row(id: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id,
    model: BYTEPLUS_MODELS['video-2.0-fast'],
    status: 'running',
    created_at: Math.floor(NOW / 1000) - 25,
    resolution: '480p',
    ratio: '1:1',
    duration: 4,
    generate_audio: true,
    ...changes,
  };
}

function search(pages: Page[], changes: Partial<Search> = {}): Search & { asked: string[] } {
  const asked: string[] = [];
  return {
    models: BYTEPLUS_MODELS,
    markerOf: () => null,
    now: () => NOW,
    asked,
    async list(query) {
      asked.push(query);
      return pages[asked.length - 1] ?? { items: [], total: 0 };
    },
    ...changes,
  };
}

const page = (...items: unknown[]): Page => ({ items, total: items.length });
const marked = { markerOf: () => submission.attemptId };

test('a marked attempt owns the task with its marker and no other that is like it', async () => {
  const items = [row('cgt-1'), row('cgt-2', { safety_identifier: submission.attemptId })];
  assert.deepEqual(await findJob(search([page(...items)], marked), attempt), {
    kind: 'found',
    jobId: 'cgt-2',
  });
  const unlike = row('cgt-3', { safety_identifier: submission.attemptId, ratio: '16:9' });
  const found = await findJob(search([page(unlike)], marked), attempt);
  assert.deepEqual(found, { kind: 'found', jobId: 'cgt-3' });
});

test('two tasks with one marker are ambiguous', async () => {
  const twin = { safety_identifier: submission.attemptId };
  const found = await findJob(search([page(row('a', twin), row('b', twin))], marked), attempt);
  assert.deepEqual(found, { kind: 'ambiguous', jobIds: ['a', 'b'] });
});

test('unmarked, each thing that Ark echoes can rule a task out', async () => {
  const others: Record<string, unknown>[] = [
    { model: BYTEPLUS_MODELS['video-2.0'] },
    { resolution: '720p' },
    { ratio: '16:9' },
    { duration: 5 },
    { generate_audio: false },
    { safety_identifier: 'att_of_another' },
    { created_at: Math.floor(NOW / 1000) - 37 },
    { created_at: Math.floor(NOW / 1000) - 14 },
    { created_at: null },
  ];
  for (const changes of others) {
    const found = await findJob(search([page(row('cgt-1', changes))]), attempt);
    assert.deepEqual(found, { kind: 'absent', proof: 'weak' }, JSON.stringify(changes));
  }
  const edges = [
    { created_at: Math.floor(NOW / 1000) - 36 },
    { ratio: null, resolution: undefined },
  ];
  for (const changes of edges) {
    const found = await findJob(search([page(row('cgt-1', changes))]), attempt);
    assert.equal(found.kind, 'found', JSON.stringify(changes));
  }
});

test('an attempt that was marked before marking was switched off is found still', async () => {
  const items = page(row('cgt-1', { safety_identifier: submission.attemptId }));
  assert.equal((await findJob(search([items]), attempt)).kind, 'found');
});

test('a task of another attempt is never found', async () => {
  const taken = { ...attempt, takenJobIds: async () => new Set(['cgt-1']) };
  const items = page(row('cgt-1'), row('cgt-2'));
  assert.deepEqual(await findJob(search([items]), taken), { kind: 'found', jobId: 'cgt-2' });
});

test('all pages are read, and a task that two pages show counts once', async () => {
  const first = { items: [row('cgt-1', { ratio: '16:9' }), row('cgt-2')], total: 4 };
  const second = { items: [row('cgt-2'), row('cgt-3', { ratio: '16:9' })], total: 4 };
  const asking = search([first, second]);
  assert.deepEqual(await findJob(asking, attempt), { kind: 'found', jobId: 'cgt-2' });
  assert.deepEqual(asking.asked, ['page_num=1&page_size=500', 'page_num=2&page_size=500']);
});

test('a row that is no task is passed over', async () => {
  const asking = search([page(null, { id: 7 }, 'x', row('cgt-1'))]);
  assert.equal((await findJob(asking, attempt)).kind, 'found');
});

test('an endpoint id filters the list and is not compared with what tasks name', async () => {
  const models = { ...BYTEPLUS_MODELS, 'video-2.0-fast': 'ep-2026-abc' };
  const asking = search([page(row('cgt-1'))], { models });
  assert.equal((await findJob(asking, attempt)).kind, 'found');
  assert.match(asking.asked[0] ?? '', /filter\.model=ep-2026-abc/);
});

test('an attempt older than the list is absent without a question', async () => {
  const asking = search([page(row('cgt-1'))], { now: () => NOW + 8 * 86_400_000 });
  assert.deepEqual(await findJob(asking, attempt), { kind: 'absent', proof: 'weak' });
  assert.deepEqual(asking.asked, []);
});

test('JSON that is no list throws: it never reads as an empty one', () => {
  for (const json of [undefined, null, [], {}, { items: null, total: 0 }, { items: [] }]) {
    assert.throws(() => listPage(json), /not readable/);
  }
});
