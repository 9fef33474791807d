import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newJobSpec } from '../../../test/providers/conformance/attempts.ts';
import type { FindJobInput } from '../provider.ts';
import { type ArkFindDeps, findArkJob } from './find.ts';
import { BYTEPLUS_MODELS } from './request.ts';
import { createScans, listPage, type Page } from './scan.ts';

const NOW = Date.UTC(2026, 8, 1);
const jobSpec = newJobSpec();
const attempt: FindJobInput = {
  jobSpec,
  sentBetween: { from: NOW - 30_400, to: NOW - 20_000 },
  takenJobIds: async () => new Set(),
};

/** A task that could be the attempt's. */
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

function deps(
  pages: Page[],
  changes: Partial<ArkFindDeps> = {},
): ArkFindDeps & { queries: string[] } {
  const queries: string[] = [];
  const page = async (query: string) => {
    queries.push(query);
    return pages[queries.length - 1] ?? { items: [], total: 0 };
  };
  const scan = createScans({ page, nextTurn: async () => {} });
  return { models: BYTEPLUS_MODELS, isMarking: false, scan, now: () => NOW, queries, ...changes };
}

const page = (...items: unknown[]): Page => ({ items, total: items.length });
const marked = { isMarking: true };
const twin = { safety_identifier: jobSpec.attemptId };
const another = { safety_identifier: 'att_another', ratio: '16:9' };
const ABSENT = { kind: 'absent', proof: 'weak' };

test('a marked attempt finds the task with its mark and not one that is only similar', async () => {
  const found = { kind: 'found', jobId: 'cgt-2', by: 'mark' };
  const items = page(row('cgt-1'), row('cgt-2', twin));
  assert.deepEqual(await findArkJob(deps([items], marked), attempt), found);
  const unlike = page(row('cgt-2', { ...twin, ratio: '16:9' }));
  assert.deepEqual(await findArkJob(deps([unlike], marked), attempt), found);
});

test('if the list shows marks, an unmarked task is never found', async () => {
  const items = page(row('cgt-1'), row('cgt-2', another));
  assert.deepEqual(await findArkJob(deps([items], marked), attempt), ABSENT);
});

test('if the list shows no marks, a single similar task is found by likeness', async () => {
  const foreign = { safety_identifier: 'an id of another service' };
  const items = page(row('cgt-1'), row('cgt-2', foreign), row('cgt-3', { duration: 5 }));
  const found = { kind: 'found', jobId: 'cgt-1', by: 'likeness' };
  assert.deepEqual(await findArkJob(deps([items], marked), attempt), found);
  const two = page(row('cgt-1'), row('cgt-2'));
  const ambiguous = { kind: 'ambiguous', jobIds: ['cgt-1', 'cgt-2'] };
  assert.deepEqual(await findArkJob(deps([two], marked), attempt), ambiguous);
});

test('a mark on the last page rules out a similar task on the first page', async () => {
  const pages = [
    { items: [row('cgt-1')], total: 2 },
    { items: [row('cgt-2', another)], total: 2 },
  ];
  assert.deepEqual(await findArkJob(deps(pages, marked), attempt), ABSENT);
});

test('in a list that is too long to read to its end, only a mark counts', async () => {
  const endless = (...items: unknown[]) => Array(500).fill({ items, total: 1_000_000 });
  assert.deepEqual(await findArkJob(deps(endless(row('cgt-1'))), attempt), ABSENT);
  const found = await findArkJob(deps(endless(row('cgt-1', twin)), marked), attempt);
  assert.deepEqual(found, { kind: 'found', jobId: 'cgt-1', by: 'mark' });
});

test('two tasks with the same mark are ambiguous', async () => {
  const found = await findArkJob(deps([page(row('a', twin), row('b', twin))], marked), attempt);
  assert.deepEqual(found, { kind: 'ambiguous', jobIds: ['a', 'b'] });
});

test('without marks, each field that Ark echoes can rule a task out', async () => {
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
    const found = await findArkJob(deps([page(row('cgt-1', changes))]), attempt);
    assert.deepEqual(found, ABSENT, JSON.stringify(changes));
  }
  const edges = [
    { created_at: Math.floor(NOW / 1000) - 36 },
    { ratio: null, resolution: undefined },
  ];
  for (const changes of edges) {
    const found = await findArkJob(deps([page(row('cgt-1', changes))]), attempt);
    assert.equal(found.kind, 'found', JSON.stringify(changes));
  }
});

test('an attempt that was sent before marking was switched off is found by its mark', async () => {
  const found = await findArkJob(deps([page(row('cgt-1'), row('cgt-2', twin))]), attempt);
  assert.deepEqual(found, { kind: 'found', jobId: 'cgt-2', by: 'mark' });
});

test('a task of another attempt is never found', async () => {
  const taken = { ...attempt, takenJobIds: async () => new Set(['cgt-1']) };
  const items = page(row('cgt-1'), row('cgt-2'));
  assert.deepEqual(await findArkJob(deps([items]), taken), {
    kind: 'found',
    jobId: 'cgt-2',
    by: 'likeness',
  });
});

test('all pages are read, and a task on two pages counts once', async () => {
  const first = { items: [row('cgt-1', { ratio: '16:9' }), row('cgt-2')], total: 4 };
  const second = { items: [row('cgt-2'), row('cgt-3', { ratio: '16:9' })], total: 4 };
  const listing = deps([first, second]);
  assert.deepEqual(await findArkJob(listing, attempt), {
    kind: 'found',
    jobId: 'cgt-2',
    by: 'likeness',
  });
  assert.deepEqual(listing.queries, ['page_num=1&page_size=500', 'page_num=2&page_size=500']);
});

test('a row that is not a task is skipped', async () => {
  const listing = deps([page(null, { id: 7 }, 'x', row('cgt-1'))]);
  assert.equal((await findArkJob(listing, attempt)).kind, 'found');
});

test('an endpoint id filters the list and is not compared with the models of the tasks', async () => {
  const models = { ...BYTEPLUS_MODELS, 'video-2.0-fast': 'ep-2026-abc' };
  const listing = deps([page(row('cgt-1'))], { models });
  assert.equal((await findArkJob(listing, attempt)).kind, 'found');
  assert.match(listing.queries[0] ?? '', /filter\.model=ep-2026-abc/);
});

test('an attempt older than the list is absent, and the list is not read', async () => {
  const listing = deps([page(row('cgt-1'))], { now: () => NOW + 8 * 86_400_000 });
  assert.deepEqual(await findArkJob(listing, attempt), ABSENT);
  assert.deepEqual(listing.queries, []);
});

test('JSON that is not a list throws: it does not count as empty', () => {
  for (const json of [undefined, null, [], {}, { items: null, total: 0 }, { items: [] }]) {
    assert.throws(() => listPage(json), /not in its documented format/);
  }
});
