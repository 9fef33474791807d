import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubmitOutcome } from '../../../src/providers/provider.ts';
import { until } from '../../until.ts';
import {
  expectKind,
  findJobInput,
  jobsFor,
  newJobSpec,
  sendNow,
  submitAccepted,
  submitCount,
} from './attempts.ts';
import type { PlannedFault, RefusalCase, Suite } from './subject.ts';

/** The provider accepted, but the caller can't know. */
const LOST_RESPONSES: PlannedFault[] = [
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

/** The provider did nothing, and the caller can't know that either. */
const LOST_REQUESTS: PlannedFault[] = [{ kind: 'reset_before_body' }, { kind: 'reset_after_body' }];

export function submitTests(suite: Suite): void {
  test('a submit makes one job with one request and returns its id', async () => {
    const jobSpec = newJobSpec();
    const before = await submitCount(suite);
    const jobId = await submitAccepted(suite, jobSpec);
    assert.deepEqual(await jobsFor(suite, jobSpec), [jobId]);
    assert.equal(await submitCount(suite), before + 1);
  });

  test('when the time to send is over, no submit arrives and the outcome is not sent', async () => {
    const jobSpec = newJobSpec();
    const before = await submitCount(suite);
    expectKind(await suite.provider().submit(jobSpec, () => false), 'not_sent');
    assert.equal(await submitCount(suite), before);
    assert.deepEqual(await jobsFor(suite, jobSpec), []);
  });

  test('a model that has no id at the provider is refused before anything is sent', async (t) => {
    if (suite.of.takesAnyModel) return t.skip('each model has one');
    const before = await submitCount(suite);
    const outcome = await suite.provider().submit(newJobSpec({ model: 'constructor' }), sendNow);
    assert.equal('fault' in outcome && outcome.fault, 'operator');
    assert.equal(await submitCount(suite), before);
  });

  test('each submit asks whether it may still send', async () => {
    let calls = 0;
    const mayStillSend = () => {
      calls += 1;
      return true;
    };
    expectKind(await suite.provider().submit(newJobSpec(), mayStillSend), 'accepted');
    assert.ok(calls > 0);
  });

  test('an attempt that is submitted twice has one job', async (t) => {
    if (suite.of.find !== 'exact') return t.skip('the provider chooses the job id');
    const jobSpec = newJobSpec();
    const jobId = await submitAccepted(suite, jobSpec);
    assert.equal(await submitAccepted(suite, jobSpec), jobId);
    assert.deepEqual(await jobsFor(suite, jobSpec), [jobId]);
  });
}

/** The outcome of a submit whose request or response is lost. */
export function lostSubmitTests(suite: Suite): void {
  for (const fault of LOST_RESPONSES) lostResponseTest(suite, fault);
  for (const fault of LOST_REQUESTS) lostRequestTest(suite, fault);

  test('a 500 is unknown, even if nothing was done', async () => {
    await suite.simulator().plan({ faults: [{ kind: 'refuse', status: 500 }] });
    const jobSpec = newJobSpec();
    expectKind(await suite.provider().submit(jobSpec, sendNow), 'unknown');
    assert.deepEqual(await jobsFor(suite, jobSpec), []);
  });
}

/** Each refusal is the fault that its case says. */
export function refusalTests(suite: Suite): void {
  for (const refusal of suite.of.refusals) refusalTest(suite, refusal);
}

function lostResponseTest(suite: Suite, fault: PlannedFault): void {
  const hasFind = suite.of.find !== 'none';
  const finding = hasFind ? 'the find finds this job' : 'no find proves its absence';
  test(`${nameOf(fault)}: unknown, sent once, and ${finding}`, async () => {
    const jobSpec = newJobSpec();
    const [before, from] = [await submitCount(suite), Date.now()];
    await suite.simulator().plan({ faults: [fault] });
    expectUnknown(await suite.provider().submit(jobSpec, sendNow), fault);
    assert.equal(await submitCount(suite), before + 1);
    const [jobId, ...more] = await jobsFor(suite, jobSpec);
    assert.ok(jobId !== undefined && more.length === 0);
    const find = () => suite.provider().find(findJobInput(jobSpec, from));
    if (!hasFind) return assert.deepEqual(await find(), { kind: 'absent', proof: 'weak' });
    const found = await until(find, ({ kind }) => kind !== 'absent');
    assert.deepEqual(found, { kind: 'found', jobId, by: 'mark' });
  });
}

/** Expects the number of bytes that were sent, unless a complete but unusable response came. */
function expectUnknown(outcome: SubmitOutcome, { kind }: PlannedFault): void {
  expectKind(outcome, 'unknown');
  const hasResponse = kind === 'error_after_accepting' || kind === 'unreadable';
  const bytesSent = outcome.kind === 'unknown' ? outcome.bytesSent : undefined;
  assert.equal(typeof bytesSent, hasResponse ? 'undefined' : 'number');
}

function lostRequestTest(suite: Suite, fault: PlannedFault): void {
  test(`${nameOf(fault)}: unknown, sent once, and the find finds nothing`, async () => {
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
  const expected = `${becomes.fault} ${'code' in becomes ? becomes.code : ''}`.trim();
  test(`refused with ${describeFault(fault)}: ${expected}, sent once, no job`, async () => {
    const jobSpec = newJobSpec();
    const before = await submitCount(suite);
    await suite.simulator().plan({ faults: [{ kind: 'refuse', ...fault }] });
    const outcome = await suite.provider().submit(jobSpec, sendNow);
    assert.deepEqual(withoutText(outcome), { kind: 'rejected', ...becomes });
    assert.equal(await submitCount(suite), before + 1);
    assert.deepEqual(await jobsFor(suite, jobSpec), []);
  });
}

/** The meaning of a refusal, without its texts. */
function withoutText(outcome: SubmitOutcome): Partial<SubmitOutcome> {
  const { message: _message, cause: _cause, ...meaning } = { message: '', cause: '', ...outcome };
  return meaning;
}

function nameOf({ kind, status }: PlannedFault): string {
  return `${kind.replaceAll('_', ' ')}${status === undefined ? '' : ` (${status})`}`;
}

function describeFault({
  code,
  status,
  retryAfterSeconds: seconds,
}: Omit<PlannedFault, 'kind'>): string {
  const wait = seconds === undefined ? '' : ` and Retry-After ${seconds}`;
  return `${code ?? ''} ${status ?? ''}`.trim() + wait;
}
