import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newJobSpec } from '../../../test/providers/conformance/attempts.ts';
import type { FindJobInput } from '../provider.ts';
import { findArkJob, type Search } from './find.ts';
import { BYTEPLUS_MODELS } from './request.ts';
import { createScans, listPage, type Page } from './scan.ts';

const NOW = Date.UTC(2026, 8, 1);
const jobSpec = newJobSpec();
const attempt: FindJobInput = {
  jobSpec,
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
  const page = async (query: string) => {
    asked.push(query);
    return pages[asked.length - 1] ?? { items: [], total: 0 };
  };
  const scan = createScans({ page, nextTurn: async () => {} });
  return { models: BYTEPLUS_MODELS, isMarking: false, scan, now: () => NOW, asked, ...changes };
}

const page = (...items: unknown[]): Page => ({ items, total: items.length });
const marked = { isMarking: true };
const twin = { safety_identifier: jobSpec.attemptId };
const another = { safety_identifier: 'att_another', ratio: '16:9' };
const ABSENT = { kind: 'absent', proof: 'weak' };

test('a marked attempt owns the task with its marker and no other that is like it', async () => {
  const found = { kind: 'found', jobId: 'cgt-2', by: 'mark' };
  const items = page(row('cgt-1'), row('cgt-2', twin));
  assert.deepEqual(await findArkJob(search([items], marked), attempt), found);
  const unlike = page(row('cgt-2', { ...twin, ratio: '16:9' }));
  assert.deepEqual(await findArkJob(search([unlike], marked), attempt), found);
});

test('where a marker of ours shows, a task without one is never taken', async () => {
  const items = page(row('cgt-1'), row('cgt-2', another));
  assert.deepEqual(await findArkJob(search([items], marked), attempt), ABSENT);
});

test('where no marker of ours shows, a lone task alike is found by its likeness', async () => {
  const stranger = { safety_identifier: 'a customer of somebody else' };
  const items = page(row('cgt-1'), row('cgt-2', stranger), row('cgt-3', { duration: 5 }));
  const found = { kind: 'found', jobId: 'cgt-1', by: 'likeness' };
  assert.deepEqual(await findArkJob(search([items], marked), attempt), found);
  const two = page(row('cgt-1'), row('cgt-2'));
  const ambiguous = { kind: 'ambiguous', jobIds: ['cgt-1', 'cgt-2'] };
  assert.deepEqual(await findArkJob(search([two], marked), attempt), ambiguous);
});

test('a marker on the last page keeps a task alike on the first from being taken', async () => {
  const pages = [
    { items: [row('cgt-1')], total: 2 },
    { items: [row('cgt-2', another)], total: 2 },
  ];
  assert.deepEqual(await findArkJob(search(pages, marked), attempt), ABSENT);
});

test('a list that goes on past what can be asked for shows marks, and no likeness', async () => {
  const endless = (...items: unknown[]) => Array(500).fill({ items, total: 1_000_000 });
  assert.deepEqual(await findArkJob(search(endless(row('cgt-1'))), attempt), ABSENT);
  const found = await findArkJob(search(endless(row('cgt-1', twin)), marked), attempt);
  assert.deepEqual(found, { kind: 'found', jobId: 'cgt-1', by: 'mark' });
});

test('two tasks with one marker are ambiguous', async () => {
  const found = await findArkJob(search([page(row('a', twin), row('b', twin))], marked), attempt);
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
    const found = await findArkJob(search([page(row('cgt-1', changes))]), attempt);
    assert.deepEqual(found, ABSENT, JSON.stringify(changes));
  }
  const edges = [
    { created_at: Math.floor(NOW / 1000) - 36 },
    { ratio: null, resolution: undefined },
  ];
  for (const changes of edges) {
    const found = await findArkJob(search([page(row('cgt-1', changes))]), attempt);
    assert.equal(found.kind, 'found', JSON.stringify(changes));
  }
});

test('an attempt that was marked before marking was switched off is found still', async () => {
  const found = await findArkJob(search([page(row('cgt-1'), row('cgt-2', twin))]), attempt);
  assert.deepEqual(found, { kind: 'found', jobId: 'cgt-2', by: 'mark' });
});

test('a task of another attempt is never found', async () => {
  const taken = { ...attempt, takenJobIds: async () => new Set(['cgt-1']) };
  const items = page(row('cgt-1'), row('cgt-2'));
  assert.deepEqual(await findArkJob(search([items]), taken), {
    kind: 'found',
    jobId: 'cgt-2',
    by: 'likeness',
  });
});

test('all pages are read, and a task that two pages show counts once', async () => {
  const first = { items: [row('cgt-1', { ratio: '16:9' }), row('cgt-2')], total: 4 };
  const second = { items: [row('cgt-2'), row('cgt-3', { ratio: '16:9' })], total: 4 };
  const asking = search([first, second]);
  assert.deepEqual(await findArkJob(asking, attempt), {
    kind: 'found',
    jobId: 'cgt-2',
    by: 'likeness',
  });
  assert.deepEqual(asking.asked, ['page_num=1&page_size=500', 'page_num=2&page_size=500']);
});

test('a row that is no task is passed over', async () => {
  const asking = search([page(null, { id: 7 }, 'x', row('cgt-1'))]);
  assert.equal((await findArkJob(asking, attempt)).kind, 'found');
});

test('an endpoint id filters the list and is not compared with what tasks name', async () => {
  const models = { ...BYTEPLUS_MODELS, 'video-2.0-fast': 'ep-2026-abc' };
  const asking = search([page(row('cgt-1'))], { models });
  assert.equal((await findArkJob(asking, attempt)).kind, 'found');
  assert.match(asking.asked[0] ?? '', /filter\.model=ep-2026-abc/);
});

test('an attempt older than the list is absent without a question', async () => {
  const asking = search([page(row('cgt-1'))], { now: () => NOW + 8 * 86_400_000 });
  assert.deepEqual(await findArkJob(asking, attempt), ABSENT);
  assert.deepEqual(asking.asked, []);
});

test('JSON that is no list throws: it never reads as an empty one', () => {
  for (const json of [undefined, null, [], {}, { items: null, total: 0 }, { items: [] }]) {
    assert.throws(() => listPage(json), /not readable/);
  }
});
