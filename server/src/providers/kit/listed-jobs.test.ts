import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findInput, jobSpec } from '../../../test/providers/job-spec.ts';
import { isJobId } from './job-id.ts';
import { type Candidate, isEcho, pickJob } from './listed-jobs.ts';

test('ids as providers write them are valid', () => {
  const given = ['cgt-20260901-x7k', '024ca5b1-45d3-4afd-883e-ad3abe2a1c4d', 'a.b:c_D', '7'];
  for (const id of [...given, 'x'.repeat(200)]) assert.ok(isJobId(id), id);
});

test('ids that select another resource in a URL, or that can’t be stored, are not valid', () => {
  const others = [
    '',
    '.',
    '..',
    '../x',
    'a/b',
    'a b',
    'a\n',
    'a%2f',
    'a?b',
    'é',
    '\u0000',
    '\ud83d',
  ];
  for (const id of [...others, 'x'.repeat(201), 7, null, undefined, ['a']]) {
    assert.ok(!isJobId(id), JSON.stringify(id));
  }
});

const inputFor = (takenJobIds: string[]) => findInput(jobSpec(), 0, takenJobIds);
const marked: Candidate = { jobId: 'marked', by: 'mark' };
const alike: Candidate = { jobId: 'alike', by: 'likeness' };
const twin: Candidate = { jobId: 'twin', by: 'likeness' };
const unclear: Candidate = { jobId: 'unclear', by: 'unclear' };

test('if a candidate has the mark, likeness does not count, and a taken job is not found', async () => {
  const cases: [Candidate[], string[], object][] = [
    [[alike, marked], [], { kind: 'found', jobId: 'marked', by: 'mark' }],
    [[alike, marked], ['marked'], { kind: 'absent', proof: 'weak' }],
    [[alike, unclear], [], { kind: 'found', jobId: 'alike', by: 'likeness' }],
    [[alike, twin, alike], [], { kind: 'ambiguous', jobIds: ['alike', 'twin'] }],
    [[alike, twin], ['alike'], { kind: 'found', jobId: 'twin', by: 'likeness' }],
    [
      [marked, { ...marked, jobId: 'again' }],
      ['again'],
      { kind: 'found', jobId: 'marked', by: 'mark' },
    ],
  ];
  for (const [candidates, taken, outcome] of cases) {
    assert.deepEqual(await pickJob(candidates, inputFor(taken), 'strong'), outcome);
  }
});

test('absence is strong only if no untaken candidate is left, otherwise weak', async () => {
  const proofOf = async (candidates: Candidate[], taken: string[]) => {
    const outcome = await pickJob(candidates, inputFor(taken), 'strong');
    return outcome.kind === 'absent' ? outcome.proof : outcome;
  };
  assert.equal(await proofOf([], []), 'strong');
  assert.equal(await proofOf([unclear], []), 'weak');
  assert.equal(await proofOf([unclear], ['unclear']), 'strong');
  assert.deepEqual(await pickJob([], inputFor([])), { kind: 'absent', proof: 'weak' });
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
