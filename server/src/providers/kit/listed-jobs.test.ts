import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type CannedResponse,
  remoteDeps,
  startCannedHost,
} from '../../../test/providers/canned-host.ts';
import { findInput, jobSpec } from '../../../test/providers/job-spec.ts';
import { type Candidate, isEcho, pickJob, readCandidates } from './listed-jobs.ts';
import { openApi } from './remote.ts';

const host = await startCannedHost();
const MALFORMED = ['', '..', '../x', 'a\u0000'];

/** Reads the list until its pages, or three, are read, and says which turns were taken. */
async function listed(...pages: CannedResponse[]) {
  host.requests.splice(0);
  host.respond('/list', ...pages);
  let turns = 0;
  const nextListTurn = async () => {
    assert.equal(host.requests.length, turns);
    turns += 1;
  };
  const list = {
    name: 'the list',
    firstPage: `${host.url}/list`,
    maxPages: 3,
    causeOf: () => 'HTTP',
    pageIn(body: unknown) {
      const { ids, more } = Object(body);
      return Array.isArray(ids)
        ? { rows: ids, nextPage: more ? `${host.url}/list` : undefined }
        : undefined;
    },
  };
  const read = await readCandidates(openApi(remoteDeps(host.url, { nextListTurn }), {}), list, {
    idOf: (id: string) => id,
    compare: (id: string) => (id === 'other' ? 'other' : 'mark'),
  });
  return { ...read, turns };
}

test('a list is read to its end, each page after its turn, and rows with other ids are skipped', async () => {
  const first = { json: { ids: ['other', ...MALFORMED, 'a'], more: true } };
  assert.deepEqual(await listed(first, { json: { ids: ['b'] } }), {
    candidates: [
      { jobId: 'a', by: 'mark' },
      { jobId: 'b', by: 'mark' },
    ],
    skipped: MALFORMED.length,
    turns: 2,
  });
});

test('a list that can’t be read to its end throws: it does not count as empty', async () => {
  await assert.rejects(listed({ json: { ids: ['a'], more: true } }), /more than 3 pages/);
  const unreadable = [{ text: '<html>' }, { json: {} }, { status: 403, json: { ids: [] } }];
  for (const response of unreadable) {
    await assert.rejects(listed(response), /the list can't be read/);
    await assert.rejects(listed({ json: { ids: [], more: true } }, response), /can't be read/);
  }
});

const inputFor = (takenJobIds: string[]) => findInput(jobSpec(), 0, takenJobIds);
const marked: Candidate = { jobId: 'marked', by: 'mark' };
const alike: Candidate = { jobId: 'alike', by: 'likeness' };
const twin: Candidate = { jobId: 'twin', by: 'likeness' };
const unclear: Candidate = { jobId: 'unclear', by: 'unclear' };

test('if a candidate has the mark, likeness does not count; absence is strong only if no candidate is free', async () => {
  const found = (jobId: string, by: string) => ({ kind: 'found', jobId, by });
  const absent = (proof: string) => ({ kind: 'absent', proof });
  const again = { ...marked, jobId: 'again' };
  const cases: [Candidate[], string[], object][] = [
    [[alike, marked], [], found('marked', 'mark')],
    [[alike, marked], ['marked'], absent('weak')],
    [[alike, unclear], [], found('alike', 'likeness')],
    [[alike, twin, alike], [], { kind: 'ambiguous', jobIds: ['alike', 'twin'] }],
    [[alike, twin], ['alike'], found('twin', 'likeness')],
    [[marked, again], ['again'], found('marked', 'mark')],
    [[], [], absent('strong')],
    [[unclear], [], absent('weak')],
    [[unclear], ['unclear'], absent('strong')],
  ];
  for (const [candidates, taken, outcome] of cases) {
    assert.deepEqual(await pickJob(candidates, inputFor(taken), 'strong'), outcome);
  }
  assert.deepEqual(await pickJob([], inputFor([])), absent('weak'));
});

const SENT = {
  prompt: 'a lighthouse',
  duration: '5',
  urls: ['https://a.example/media/o_1?signature=x', 'https://a.example/media/o_2?signature=y'],
};

test('the fields that were sent are recognised among fields that the provider added', () => {
  assert.ok(isEcho(SENT, { ...structuredClone(SENT), bitrate_mode: 'standard', seed: null }));
});

test('a link with a new signature is the same link, a link to another file is not', () => {
  const [, second] = SENT.urls;
  assert.ok(isEcho(SENT, { ...SENT, urls: ['https://a.example/media/o_1?signature=z', second] }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: ['https://a.example/media/o_3?signature=x', second] }));
  assert.ok(!isEcho({ prompt: 'why? a' }, { prompt: 'why? b' }));
});

test('links to one of our objects are the same, wherever they lead', () => {
  const own = { url: 'https://video.example/media/obj_1.png?expires=1&signature=x' };
  const presigned = { url: 'https://bucket.example/videos/obj_1?X-Amz-Signature=y' };
  const other = { url: 'https://bucket.example/videos/obj_2?X-Amz-Signature=y' };
  assert.ok(isEcho(own, presigned) && isEcho(presigned, own));
  assert.ok(!isEcho(own, other));
});

test('a missing field, another type or another order of a list is not an echo', () => {
  const { prompt: _, ...withoutPrompt } = SENT;
  assert.ok(!isEcho(SENT, withoutPrompt));
  assert.ok(!isEcho(SENT, { ...SENT, duration: 5 }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: SENT.urls.toReversed() }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: SENT.urls.slice(1) }));
  for (const shown of [null, undefined, 'text', [SENT]]) assert.ok(!isEcho(SENT, shown));
});
