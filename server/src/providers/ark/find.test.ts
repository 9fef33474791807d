import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../../../test/long.ts';
import { newJobSpec } from '../../../test/providers/conformance/attempts.ts';
import type { Api } from '../kit/remote.ts';
import type { FindJobInput } from '../provider.ts';
import { createArkFind } from './find.ts';
import { BYTEPLUS_MODELS } from './request.ts';

const NOW = Date.UTC(2026, 8, 1);
const jobSpec = newJobSpec();
const attempt: FindJobInput = {
  jobSpec,
  sentBetween: { from: NOW - 30_400, to: NOW - 20_000 },
  takenJobIds: async () => new Set(),
};

/** A job, which Ark calls a task, that could be the attempt's. */
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

interface Page {
  items: unknown[];
  total: number;
}

type Deps = Parameters<typeof createArkFind>[0];

/** The finds of an adapter whose list has these pages, and the queries that it gets. */
function listing(pageOf: (query: string, call: number) => Page | Promise<Page>, changes = {}) {
  const queries: string[] = [];
  const api: Pick<Api, 'get' | 'nextListTurn'> = {
    nextListTurn: async () => {},
    async get(url) {
      const query = url.split('?')[1] ?? '';
      queries.push(query);
      return { status: 200, headers: {}, body: await pageOf(query, queries.length) };
    },
  };
  const deps = { jobsUrl: 'x', models: BYTEPLUS_MODELS, isMarking: true, now: () => NOW };
  return { find: createArkFind({ ...deps, api: api as Api, ...changes } as Deps), queries };
}

const page = (...items: unknown[]): Page => ({ items, total: items.length });
const pages = (list: Page[]) => (_: string, call: number) => list[call - 1] ?? page();
const found = (jobId: string, by: string) => ({ kind: 'found', jobId, by });
const ABSENT = { kind: 'absent', proof: 'weak' };
const UNMARKED = { isMarking: false };
const marked = { safety_identifier: jobSpec.attemptId };
const markedForAnother = { safety_identifier: 'att_another', ratio: '16:9' };
const foreign = { safety_identifier: 'an id of another service' };
const endless = (...items: unknown[]) => Array(500).fill({ items, total: 1_000_000 });
const MALFORMED_ID = row('../x', marked);

const CASES: [title: string, list: Page[], outcome: object, changes?: object][] = [
  ['a mark counts, beside a similar job', [page(row('a'), row('b', marked))], found('b', 'mark')],
  [
    'a mark counts in an unlike job',
    [page(row('a', markedForAnother), row('b', { ...marked, ratio: '16:9' }))],
    found('b', 'mark'),
  ],
  [
    'if the list shows marks, an unmarked job is not ours',
    [page(row('a'), row('b', markedForAnother))],
    ABSENT,
  ],
  [
    'also if the mark is on the last page',
    [
      { items: [row('a')], total: 2 },
      { items: [row('b', markedForAnother)], total: 2 },
    ],
    ABSENT,
  ],
  [
    'if the list shows no marks, a single similar job is found',
    [page(row('a'), row('b', foreign), row('c', { duration: 5 }))],
    found('a', 'likeness'),
  ],
  [
    'two similar jobs are ambiguous',
    [page(row('a'), row('b'))],
    { kind: 'ambiguous', jobIds: ['a', 'b'] },
  ],
  [
    'two jobs with the mark are ambiguous',
    [page(row('a', marked), row('b', marked))],
    { kind: 'ambiguous', jobIds: ['a', 'b'] },
  ],
  [
    'an attempt that was sent before marking was switched off is found by its mark',
    [page(row('a'), row('b', marked))],
    found('b', 'mark'),
    UNMARKED,
  ],
  ['in a list that is too long, a similar job does not count', endless(row('a')), ABSENT, UNMARKED],
  ['in a list that is too long, the mark counts', endless(row('a', marked)), found('a', 'mark')],
  [
    'a row that is no job, or has a malformed id, is skipped',
    [page(null, { id: 7 }, 'x', MALFORMED_ID, row('a', marked))],
    found('a', 'mark'),
  ],
];

test('an attempt finds the job with its mark, or else the only one like it', async () => {
  for (const [title, list, outcome, changes] of CASES) {
    assert.deepEqual(await listing(pages(list), changes).find(attempt), outcome, title);
  }
  const taken = { ...attempt, takenJobIds: async () => new Set(['a']) };
  const beside = listing(pages([page(row('a'), row('b'))]));
  assert.deepEqual(await beside.find(taken), found('b', 'likeness'));
});

test('without marks, each field that Ark echoes can rule a job out', async () => {
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
  const edges = [
    { created_at: Math.floor(NOW / 1000) - 36 },
    { ratio: null, resolution: undefined },
  ];
  for (const changes of [...others, ...edges]) {
    const { kind } = await listing(() => page(row('a', changes)), UNMARKED).find(attempt);
    const expected = edges.some((edge) => edge === changes) ? 'found' : 'absent';
    assert.equal(kind, expected, JSON.stringify(changes));
  }
});

test('an endpoint id filters the list and is not compared with the models of the jobs', async () => {
  const models = { ...BYTEPLUS_MODELS, 'video-2.0-fast': 'ep-2026-abc' };
  const { find, queries } = listing(() => page(row('a')), { models });
  assert.equal((await find(attempt)).kind, 'found');
  assert.match(queries[0] ?? '', /filter\.model=ep-2026-abc/);
});

test('an attempt older than the list is absent, and the list is not read', async () => {
  const { find, queries } = listing(() => page(row('a')), { now: () => NOW + 8 * 86_400_000 });
  assert.deepEqual(await find(attempt), ABSENT);
  assert.deepEqual(queries, []);
});

const FULL = { items: Array(500).fill(row('x', { ratio: '16:9' })), total: 500 };

async function expectPagesRead(list: Page[], count: number): Promise<void> {
  const { find, queries } = listing(pages(list));
  await find(attempt);
  const asked = queries.map((_, index) => `page_num=${index + 1}&page_size=500`);
  assert.deepEqual(queries, asked);
  assert.equal(queries.length, count);
}

test('a full page is never the last one, whatever the total says', async () => {
  await expectPagesRead([FULL, FULL, page(row('a'))], 3);
  await expectPagesRead([FULL], 2);
  await expectPagesRead([{ items: [row('a')], total: 2 }, page(row('a'))], 2);
});

longTest('at most 500 pages are read', () => expectPagesRead(Array(501).fill(FULL), 500));

/** Waits until all pending promise callbacks, and what they scheduled, have run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const fiftyAttempts = Array.from({ length: 50 }, () => ({ ...attempt, jobSpec: newJobSpec() }));

test('finds share a scan; those that come during it share the next, from its start; a failed scan fails its finds', async () => {
  const responses: PromiseWithResolvers<Page>[] = [];
  const { find } = listing(() => {
    const response = Promise.withResolvers<Page>();
    responses.push(response);
    return response.promise;
  });
  const early = fiftyAttempts.map((one) => find(one).catch(({ message }) => message));
  await settle();
  const late = [find(attempt), ...fiftyAttempts.map(find)];
  await settle();
  assert.equal(responses.length, 1, 'the next scan waits for this one');
  responses[0]?.reject(new Error('the list failed'));
  assert.deepEqual(new Set(await Promise.all(early)), new Set(['the list failed']));
  await settle();
  responses[1]?.resolve(page(row('a', marked)));
  const [own, ...others] = await Promise.all(late);
  assert.deepEqual(own, found('a', 'mark'));
  assert.ok(others.every(({ kind }) => kind === 'absent'));
  assert.equal(responses.length, 2);
});
