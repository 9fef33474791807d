import { after, before, describe, test } from 'node:test';
import { callbackTests, forgeryTests } from './conformance/callbacks.ts';
import { expectUnreachable, findTests, unmarkedTests } from './conformance/finds.ts';
import { outputTests } from './conformance/outputs.ts';
import { readTests } from './conformance/reads.ts';
import type { ProviderCase, ProviderSubject, Suite } from './conformance/subject.ts';
import { submitTests } from './conformance/submits.ts';

export type { ProviderCase, ProviderSubject } from './conformance/subject.ts';

/**
 * What every provider must do, as tests against its simulator: one job for one submit and never a
 * second try, each lost reply unknown and found again, each refusal and state as documented, no
 * failure of a read or a look-up taken for an answer, outputs, callbacks.
 */
export function providerConformance(of: ProviderCase): void {
  describe(`${of.name} keeps the provider contract`, () => {
    const suite = begin(of, () => of.start());
    submitTests(suite);
    readTests(suite);
    findTests(suite);
    outputTests(suite);
    if (of.callsBack) {
      callbackTests(suite);
      forgeryTests(suite);
    }
  });

  const { startUnmarked } = of;
  if (startUnmarked) {
    describe(`${of.name} without markers`, () => unmarkedTests(begin(of, startUnmarked)));
  }

  test(`${of.name} that can't be reached is not sent anything`, async () => {
    const subject = await of.start();
    await expectUnreachable(subject).finally(() => subject.close());
  });
}

function begin(of: ProviderCase, start: () => Promise<ProviderSubject>): Suite {
  let subject: ProviderSubject;
  before(async () => {
    subject = await start();
  });
  after(() => subject.close());
  return { of, provider: () => subject.provider, simulator: () => subject.simulator };
}
