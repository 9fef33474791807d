import { after, before, describe, test } from 'node:test';
import { callbackTests, forgeryTests } from './conformance/callbacks.ts';
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
 * What every provider must do, as tests against its simulator: one job for one submit and never a
 * second try, each lost reply unknown and found again, each refusal and state as documented, no
 * failure of a read or a look-up taken for an answer, outputs, callbacks. What a provider can't
 * meet is shown as skipped, with the reason.
 */
export function providerConformance(of: ProviderCase): void {
  describe(`${of.name} keeps the provider contract`, () => {
    const suite = begin(of, () => of.start());
    submitTests(suite);
    readTests(suite);
    findTests(suite);
    outputTests(suite);
    networkTests(suite);
    const silent = of.callbacks === 'none' ? 'it does not call back' : undefined;
    group('callbacks', silent, () => {
      callbackTests(suite);
      forgeryTests(suite);
    });
  });

  const ways = Object.entries(of.unmarked);
  const marked = ways.length > 0 ? undefined : 'its look-up goes by an id of ours';
  group(`${of.name} without marks`, marked, () => {
    for (const [way, start] of ways)
      describe(`${of.name} ${way}`, () => unmarkedTests(begin(of, start)));
  });

  test(`${of.name} that can't be reached makes up nothing`, async () => {
    const subject = await of.start();
    await expectUnreachable(subject, of).finally(() => subject.close());
  });
}

/** What hosts that are not ours do, and what a network does to calls. */
function networkTests(suite: Suite): void {
  const absent =
    suite.of.transport === 'http' ? undefined : 'nothing of it is called over a network';
  group('submits whose request or reply is lost', absent, () => lostSubmitTests(suite));
  group('submits that a host refuses', absent, () => refusalTests(suite));
  group('reads that fail, and what a host may say of a job', absent, () => foreignReadTests(suite));
  group('look-ups that fail or lag', absent, () => foreignFindTests(suite));
  group('outputs that a host fails to give', absent, () => foreignOutputTests(suite));
}

/** Some tests or, with a reason why not, one that says so. */
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
