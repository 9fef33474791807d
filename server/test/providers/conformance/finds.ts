import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FindOutcome, JobSpec } from '../../../src/providers/provider.ts';
import { until } from '../../until.ts';
import {
  expectKind,
  findJobInput,
  jobsFor,
  newJobSpec,
  sendNow,
  submitAccepted,
  submitLost,
} from './attempts.ts';
import { TEMPORARY } from './reads.ts';
import type { ProviderCase, ProviderSubject, Suite } from './subject.ts';

const isPresent = ({ kind }: FindOutcome) => kind !== 'absent';

export function findTests(suite: Suite): void {
  test('an attempt that was never sent is absent, even beside a similar one', async () => {
    const from = Date.now();
    const sent = newJobSpec();
    await submitAccepted(suite, sent);
    const unsent = newJobSpec({ prompt: sent.prompt });
    const found = await suite.provider().find(findJobInput(unsent, from));
    assert.deepEqual(found, { kind: 'absent', proof: suite.of.absence });
  });

  test('two equal attempts whose responses were lost each find their own job', async (t) => {
    if (suite.of.find === 'none') return t.skip('it finds no job');
    const from = Date.now();
    const one = newJobSpec({ prompt: 'Two of a kind', aspect_ratio: '4:3' });
    const other = newJobSpec({ prompt: 'Two of a kind', aspect_ratio: '4:3' });
    await submitLost(suite, one);
    const [first] = await jobsFor(suite, one);
    await submitLost(suite, other);
    const second = (await jobsFor(suite, other)).find((jobId) => jobId !== first);
    const find = (jobSpec: JobSpec) => () => suite.provider().find(findJobInput(jobSpec, from));
    assert.deepEqual(await until(find(other), isPresent), foundByMark(second));
    assert.deepEqual(await until(find(one), isPresent), foundByMark(first));
  });

  test('after final absence no submit of the attempt makes a job', async (t) => {
    if (suite.of.absence !== 'final') return t.skip('its absence is never final');
    const [from, jobSpec] = [Date.now(), newJobSpec()];
    const find = () => suite.provider().find(findJobInput(jobSpec, from));
    const absent = { kind: 'absent', proof: 'final' };
    assert.deepEqual(await find(), absent);
    expectKind(await suite.provider().submit(jobSpec, sendNow), 'not_sent');
    assert.deepEqual(await jobsFor(suite, jobSpec), []);
    assert.deepEqual(await find(), absent);
  });
}

/** Finds at a foreign host: its list lags, its responses are lost. */
export function foreignFindTests(suite: Suite): void {
  test('a job that a lagging list does not show yet is not finally absent, and is found later', async (t) => {
    if (suite.of.find !== 'list') return t.skip('it has no list');
    const [from, jobSpec] = [Date.now(), newJobSpec()];
    const lag = { kind: 'list_lag', seconds: 1.5 };
    await suite.simulator().plan({ faults: [{ kind: 'drop_after_accepting' }, lag] });
    await suite.provider().submit(jobSpec, sendNow);
    const find = () => suite.provider().find(findJobInput(jobSpec, from));
    const first = await find();
    assert.ok(first.kind === 'absent' && first.proof !== 'final', JSON.stringify(first));
    const [jobId] = await jobsFor(suite, jobSpec);
    assert.deepEqual(await until(find, isPresent), foundByMark(jobId));
  });

  for (const fault of TEMPORARY) {
    test(`a find that meets "${fault.kind}" throws: it does not count as absence`, async () => {
      // Twice: a call on a connection that was kept open is made again when that one breaks.
      await suite.simulator().plan({ on: 'find', faults: [fault], times: 2 });
      const attempt = findJobInput(newJobSpec(), Date.now());
      await assert.rejects(async () => suite.provider().find(attempt));
      await suite.simulator().clearPlans();
    });
  }
}

function foundByMark(jobId: string | undefined) {
  return { kind: 'found', jobId, by: 'mark' };
}

/** Without a mark, a find does not guess between equal jobs. */
export function unmarkedTests(suite: Suite): void {
  test('without marks, two jobs that may be the attempt’s are ambiguous until one is taken', async () => {
    const from = Date.now();
    const one = newJobSpec({ prompt: 'A twin' });
    await submitLost(suite, one);
    await submitLost(suite, newJobSpec({ prompt: 'A twin' }));
    const jobIds = await jobsFor(suite, one);
    assert.equal(jobIds.length, 2);
    const find = (taken: string[]) => suite.provider().find(findJobInput(one, from, taken));
    const found = await until(
      () => find([]),
      ({ kind }) => kind === 'ambiguous',
    );
    assert.deepEqual(found.kind === 'ambiguous' && found.jobIds.toSorted(), jobIds.toSorted());
    const [mine = '', theirs = ''] = jobIds;
    assert.deepEqual(await find([theirs]), { kind: 'found', jobId: mine, by: 'likeness' });
    assert.equal((await find(jobIds)).kind, 'absent');
  });

  test('without marks, a job of another time or length is not a candidate', async () => {
    const from = Date.now();
    await submitAccepted(suite, newJobSpec({ aspect_ratio: '21:9', duration: 4 }));
    const input = newJobSpec({ aspect_ratio: '21:9', duration: 5 });
    assert.equal((await suite.provider().find(findJobInput(input, from))).kind, 'absent');
    const earlier = newJobSpec({ aspect_ratio: '21:9', duration: 4 });
    const attempt = findJobInput(earlier, from);
    const hourAgo = { from: from - 3_600_000, to: from - 3_599_000 };
    const found = await suite.provider().find({ ...attempt, sentBetween: hourAgo });
    assert.equal(found.kind, 'absent');
  });
}

/** A provider that can't be reached: no result is made up, and over a network nothing was sent. */
export async function expectUnreachable(
  { provider, simulator }: ProviderSubject,
  { transport, find }: Pick<ProviderCase, 'transport' | 'find'>,
): Promise<void> {
  await simulator.kill();
  const jobSpec = newJobSpec();
  const outcome = await provider.submit(jobSpec, sendNow);
  expectKind(outcome, transport === 'http' ? 'not_sent' : 'unknown');
  await assert.rejects(async () => provider.read('a-job'));
  const finding = async () => provider.find(findJobInput(jobSpec, Date.now()));
  if (find !== 'none') await assert.rejects(finding);
}
