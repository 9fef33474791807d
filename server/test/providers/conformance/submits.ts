import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubmitOutcome } from '../../../src/providers/provider.ts';
import {
  eventually,
  expectKind,
  findJobInput,
  jobsFor,
  newJobSpec,
  sendNow,
  submitAccepted,
  submitCount,
} from './attempts.ts';
import type { PlannedFault, RefusalCase, Suite } from './subject.ts';

/** The provider did its work; whoever asked for it can't know. */
const LOST_REPLIES: PlannedFault[] = [
  { kind: 'drop_after_accepting' },
  { kind: 'error_after_accepting', status: 500 },
  { kind: 'error_after_accepting', status: 502 },
  { kind: 'error_after_accepting', status: 503 },
  { kind: 'error_after_accepting', status: 504 },
  { kind: 'error_after_accepting', status: 408 },
  { kind: 'unreadable' },
  { kind: 'truncated_body' },
  { kind: 'slow_headers' },
  { kind: 'slow_body' },
  { kind: 'oversize_response' },
];

/** The provider did nothing; whoever asked for it can't know that either. */
const LOST_REQUESTS: PlannedFault[] = [{ kind: 'reset_before_body' }, { kind: 'reset_after_body' }];

export function submitTests(suite: Suite): void {
  test('a submit makes one job by one request and gives its id', async () => {
    const jobSpec = newJobSpec();
    const before = await submitCount(suite);
    const jobId = await submitAccepted(suite, jobSpec);
    assert.deepEqual(await jobsFor(suite, jobSpec), [jobId]);
    assert.equal(await submitCount(suite), before + 1);
  });

  test('when the time to send is over, no submit arrives and nothing is claimed', async () => {
    const jobSpec = newJobSpec();
    const before = await submitCount(suite);
    expectKind(await suite.provider().submit(jobSpec, () => false), 'not_sent');
    assert.equal(await submitCount(suite), before);
    assert.deepEqual(await jobsFor(suite, jobSpec), []);
  });

  test('whether it may still send is asked by each submit', async () => {
    let asked = 0;
    const mayStillSend = () => {
      asked += 1;
      return true;
    };
    expectKind(await suite.provider().submit(newJobSpec(), mayStillSend), 'accepted');
    assert.ok(asked > 0);
  });

  test('an attempt that is submitted twice is one job', async (t) => {
    if (suite.of.find !== 'exact') return t.skip('it takes no id of ours');
    const jobSpec = newJobSpec();
    const jobId = await submitAccepted(suite, jobSpec);
    assert.equal(await submitAccepted(suite, jobSpec), jobId);
    assert.deepEqual(await jobsFor(suite, jobSpec), [jobId]);
  });
}

/** What becomes of a submit whose request or reply is lost on its way. */
export function lostSubmitTests(suite: Suite): void {
  for (const fault of LOST_REPLIES) lostReplyTest(suite, fault);
  for (const fault of LOST_REQUESTS) lostRequestTest(suite, fault);

  test('a 500 is unknown also when nothing was done', async () => {
    await suite.simulator().plan({ faults: [{ kind: 'refuse', status: 500 }] });
    const jobSpec = newJobSpec();
    expectKind(await suite.provider().submit(jobSpec, sendNow), 'unknown');
    assert.deepEqual(await jobsFor(suite, jobSpec), []);
  });
}

/** Each refusal is put down to whoever can mend it. */
export function refusalTests(suite: Suite): void {
  for (const refusal of suite.of.refusals) refusalTest(suite, refusal);
}

function lostReplyTest(suite: Suite, fault: PlannedFault): void {
  test(`${nameOf(fault)}: unknown, sent once, and the look-up finds the very job`, async () => {
    const jobSpec = newJobSpec();
    const [before, from] = [await submitCount(suite), Date.now()];
    await suite.simulator().plan({ faults: [fault] });
    expectUnknown(await suite.provider().submit(jobSpec, sendNow), fault);
    assert.equal(await submitCount(suite), before + 1);
    const [jobId, ...more] = await jobsFor(suite, jobSpec);
    assert.ok(jobId !== undefined && more.length === 0);
    const find = () => suite.provider().find(findJobInput(jobSpec, from));
    const found = await eventually(find, ({ kind }) => kind !== 'absent');
    assert.deepEqual(found, { kind: 'found', jobId, by: 'mark' });
  });
}

/** With the bytes that were sent, unless a whole answer came and could not be used. */
function expectUnknown(outcome: SubmitOutcome, { kind }: PlannedFault): void {
  expectKind(outcome, 'unknown');
  const isAnswered = kind === 'error_after_accepting' || kind === 'unreadable';
  const bytesSent = outcome.kind === 'unknown' ? outcome.bytesSent : undefined;
  assert.equal(typeof bytesSent, isAnswered ? 'undefined' : 'number');
}

function lostRequestTest(suite: Suite, fault: PlannedFault): void {
  test(`${nameOf(fault)}: unknown, sent once, and the look-up finds nothing`, async () => {
    const jobSpec = newJobSpec();
    const [before, from] = [await submitCount(suite), Date.now()];
    await suite.simulator().plan({ faults: [fault] });
    expectUnknown(await suite.provider().submit(jobSpec, sendNow), fault);
    assert.equal(await submitCount(suite), before + 1);
    const found = await suite.provider().find(findJobInput(jobSpec, from));
    assert.deepEqual(found, { kind: 'absent', proof: suite.of.absence });
  });
}

function refusalTest(suite: Suite, { fault, becomes }: RefusalCase): void {
  const wanted = `${becomes.fault} ${'code' in becomes ? becomes.code : ''}`.trim();
  test(`refused with ${wordsOf(fault)}: ${wanted}, sent once, no job`, async () => {
    const jobSpec = newJobSpec();
    const before = await submitCount(suite);
    await suite.simulator().plan({ faults: [{ kind: 'refuse', ...fault }] });
    const outcome = await suite.provider().submit(jobSpec, sendNow);
    assert.deepEqual(withoutWords(outcome), { kind: 'rejected', ...becomes });
    assert.equal(await submitCount(suite), before + 1);
    assert.deepEqual(await jobsFor(suite, jobSpec), []);
  });
}

/** What a refusal means, without the words that come with it. */
function withoutWords(outcome: SubmitOutcome): Partial<SubmitOutcome> {
  const { message: _message, cause: _cause, ...meaning } = { message: '', cause: '', ...outcome };
  return meaning;
}

function nameOf({ kind, status }: PlannedFault): string {
  return `${kind.replaceAll('_', ' ')}${status === undefined ? '' : ` (${status})`}`;
}

function wordsOf({ code, status, retryAfterSeconds: seconds }: Omit<PlannedFault, 'kind'>): string {
  const wait = seconds === undefined ? '' : ` and Retry-After ${seconds}`;
  return `${code ?? ''} ${status ?? ''}`.trim() + wait;
}
