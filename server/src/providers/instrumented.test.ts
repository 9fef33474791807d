import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { agedFindInput, jobSpecOf } from '../../test/providers/comfyui-rig.ts';
import { scriptedProvider } from '../../test/task-fixtures.ts';
import { onReport, type Reports } from '../telemetry/reports.ts';
import { instrumented } from './instrumented.ts';
import { type FindOutcome, type JobStatus, OutputGone, type SubmitOutcome } from './provider.ts';

type Script = Parameters<typeof scriptedProvider>[0];

const calls: Reports['call'][] = [];
after(onReport('call', (call) => void calls.push(call)));

/** A scripted, instrumented provider, whose calls are recorded from now on. */
function subject(script: Script) {
  calls.length = 0;
  return { provider: instrumented(scriptedProvider(script)), calls };
}

function outcomes(calls: Reports['call'][]): string[] {
  return calls.map(({ call, outcome }) => `${call} ${outcome}`);
}

const SUBMITS: Array<[SubmitOutcome, string]> = [
  [{ kind: 'accepted', jobId: 'job' }, 'accepted'],
  [
    { kind: 'rejected', fault: 'request', code: 'content_refused', message: 'no' },
    'rejected_request',
  ],
  [{ kind: 'rejected', fault: 'busy', cause: '429' }, 'rejected_busy'],
  [{ kind: 'rejected', fault: 'operator', cause: '401' }, 'rejected_operator'],
  [{ kind: 'not_sent', cause: 'no address' }, 'not_sent'],
  [{ kind: 'unknown', cause: 'HTTP 500' }, 'unknown'],
];

test('each call is reported with its outcome and returns what the provider returns', async () => {
  for (const [outcome, label] of SUBMITS) {
    const seen = subject({ submit: async () => outcome });
    assert.equal(await seen.provider.submit(jobSpecOf(), () => true), outcome);
    assert.deepEqual(outcomes(seen.calls), [`submit ${label}`]);
    assert.ok((seen.calls[0]?.seconds ?? -1) >= 0);
  }
  const absent: FindOutcome = { kind: 'absent', proof: 'weak' };
  const working: JobStatus = { kind: 'working' };
  const output = (async function* () {})();
  const seen = subject({
    find: async () => absent,
    read: async () => working,
    openOutput: async () => output,
  });
  assert.equal(await seen.provider.find(agedFindInput(jobSpecOf())), absent);
  assert.equal(await seen.provider.read('job'), working);
  assert.equal(await seen.provider.openOutput({}), output);
  assert.deepEqual(outcomes(seen.calls), ['find absent', 'read working', 'open_output opened']);
});

test('a call that throws is reported and throws what the provider throws', async () => {
  const [failure, gone] = [new Error('no response'), new OutputGone('expired')];
  const seen = subject({
    read: () => Promise.reject(failure),
    openOutput: () => Promise.reject(gone),
  });
  await assert.rejects(seen.provider.read('job'), failure);
  await assert.rejects(seen.provider.openOutput({}), gone);
  assert.deepEqual(outcomes(seen.calls), ['read error', 'open_output gone']);
});
