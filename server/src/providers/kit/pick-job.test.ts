import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findInput, jobSpec } from '../../../test/providers/job-spec.ts';
import { type Candidate, pickJob } from './pick-job.ts';

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
