import { after, before, describe, test } from 'node:test';
import { callbackTests, forgeryTests } from './conformance/callbacks.ts';
import { cancelTests } from './conformance/cancels.ts';
import {
  expectUnreachable,
  findTests,
  foreignFindTests,
  unmarkedTests,
} from './conformance/finds.ts';
import { foreignOutputTests, outputTests } from './conformance/outputs.ts';
import { foreignReadTests, readTests } from './conformance/reads.ts';
import type { ProviderCase, ProviderSubject, Suite } from './conformance/subject.ts';
import { lostSubmitTests, refusalTests, submitTests } from './conformance/submits.ts';

export type { ProviderCase, ProviderSubject } from './conformance/subject.ts';

/**
 * What every provider must do, as tests against its simulator: one submit makes one job and is
 * never retried; a submit whose response was lost is unknown, and its job is found; each refusal
 * and status has its documented meaning; a failed read or find does not count as a result; outputs;
 * callbacks. A test that does not apply to a provider is skipped, with the reason.
 */
export function providerConformance(of: ProviderCase): void {
  describe(`${of.name} keeps the provider contract`, () => {
    const suite = begin(of, () => of.start());
    submitTests(suite);
    readTests(suite);
    findTests(suite);
    outputTests(suite);
    const noCancel = of.hasNoCancel ? 'it has no call that cancels' : undefined;
    group('cancels', noCancel, () => cancelTests(suite));
    networkTests(suite);
    const silent = of.callbacks === 'none' ? 'it does not call back' : undefined;
    group('callbacks', silent, () => {
      callbackTests(suite);
      forgeryTests(suite);
    });
  });

  const ways = Object.entries(of.unmarked);
  const marked = ways.length > 0 ? undefined : 'it never finds a job by likeness';
  group(`${of.name} without marks`, marked, () => {
    for (const [way, start] of ways)
      describe(`${of.name} ${way}`, () => unmarkedTests(begin(of, start)));
  });

  test(`${of.name} makes up no result when it can't be reached`, async () => {
    const subject = await of.start();
    await expectUnreachable(subject, of).finally(() => subject.close());
  });
}

/** Tests with the faults of a foreign host and of the network to it. */
function networkTests(suite: Suite): void {
  const noNetwork = suite.of.transport === 'http' ? undefined : 'it is not called over a network';
  group('submits whose request or response is lost', noNetwork, () => lostSubmitTests(suite));
  group('submits that a host refuses', noNetwork, () => refusalTests(suite));
  group('reads that fail, and what a host may say about a job', noNetwork, () =>
    foreignReadTests(suite),
  );
  const noFind = suite.of.find === 'none' ? 'it finds no job' : noNetwork;
  group('finds that fail or lag', noFind, () => foreignFindTests(suite));
  group('outputs that a host fails to deliver', noNetwork, () => foreignOutputTests(suite));
}

/** Registers the tests. If `why` is a reason to skip them, registers one skipped test. */
function group(name: string, why: string | undefined, tests: () => void): void {
  if (why === undefined) tests();
  else test(name, { skip: why }, () => {});
}

function begin(of: ProviderCase, start: () => Promise<ProviderSubject>): Suite {
  let subject: ProviderSubject;
  before(async () => {
    subject = await start();
  });
  after(() => subject.close());
  return { of, provider: () => subject.provider, simulator: () => subject.simulator };
}
