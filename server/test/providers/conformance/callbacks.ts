import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { closeServer, listenOn } from '../../../../simulators/kit/http-server.ts';
import type { Callback, JobSpec } from '../../../src/providers/provider.ts';
import { until } from '../../until.ts';
import { jobsFor, newJobSpec, sendNow, submitAccepted, submitLost } from './attempts.ts';
import type { PlannedFault, Suite } from './subject.ts';

/** Tests of providers that call back. */
export function callbackTests(suite: Suite): void {
  const { arrived, jobSpecCallingBack, read, isSigned } = listen(suite);
  const plan = (fault: PlannedFault) => suite.simulator().plan({ faults: [fault] });

  test('a callback names the job, and is verified if the provider signs', async () => {
    const jobSpec = jobSpecCallingBack();
    const jobId = await submitAccepted(suite, jobSpec);
    const [callback] = await arrived(jobSpec.attemptId, 1);
    assert.ok(callback);
    const report = { kind: 'report', jobId, verified: isSigned() };
    assert.deepEqual(await read(callback), report);
    assert.deepEqual(await read(callback), report, 'read again');
  });

  test('a callback names the job of a submit whose response was lost', async () => {
    const jobSpec = jobSpecCallingBack();
    await submitLost(suite, jobSpec);
    const [callback] = await arrived(jobSpec.attemptId, 1);
    assert.ok(callback);
    const [jobId] = await jobsFor(suite, jobSpec);
    const report = { kind: 'report', jobId, verified: isSigned() };
    assert.deepEqual(await read(callback), report);
  });

  test('a callback can come before the response and names the same job', async () => {
    await plan({ kind: 'callback_early' });
    const jobSpec = jobSpecCallingBack();
    const outcome = await suite.provider().submit(jobSpec, sendNow);
    const [callback] = await arrived(jobSpec.attemptId, 0);
    assert.ok(callback && outcome.kind === 'accepted');
    const report = await read(callback);
    assert.equal(report.kind === 'report' && report.jobId, outcome.jobId);
  });

  test('if a job has forged callbacks, only the provider’s own callback is verified', async () => {
    await plan({ kind: 'callback_forged' });
    const jobSpec = jobSpecCallingBack();
    const jobId = await submitAccepted(suite, jobSpec);
    const received = await arrived(jobSpec.attemptId, 2);
    const [forged, genuine] = await Promise.all(received.slice(0, 2).map(read));
    assert.ok(forged?.kind === 'forged' || forged?.verified === false);
    if (isSigned()) assert.equal(forged.kind, 'forged');
    assert.deepEqual(genuine, { kind: 'report', jobId, verified: isSigned() });
  });
}

/** A callback that was changed or forged does not count as the provider's. */
export function forgeryTests(suite: Suite): void {
  const { arrived, jobSpecCallingBack, read, isSigned } = listen(suite);

  test('if the provider signs, a callback that was changed or has no signature is forged', async (t) => {
    if (!isSigned()) return t.skip('it does not sign');
    const jobSpec = jobSpecCallingBack();
    await submitAccepted(suite, jobSpec);
    const [callback] = await arrived(jobSpec.attemptId, 1);
    assert.ok(callback);
    const body = Buffer.from(Buffer.from(callback.body).toString().replace('{', '{ '));
    assert.equal((await read({ ...callback, body })).kind, 'forged');
    assert.equal((await read({ body: callback.body, headers: {} })).kind, 'forged');
  });

  test('an arbitrary body sent to the callback URL is not verified', async () => {
    const texts = ['', 'null', '[]', '{"id":7}', '{"id":"../../x"}', '<xml/>', '\u0000\ufffd'];
    for (const text of texts) {
      const callback = await read({ body: Buffer.from(text), headers: {} });
      assert.ok(callback.kind === 'forged' || !callback.verified, text);
      if (callback.kind === 'report') assert.equal(callback.jobId, null, text);
    }
  });
}

/** A POST as it arrived at a callback URL. */
interface ReceivedCallback {
  body: Uint8Array;
  headers: Record<string, string | undefined>;
}

/** A host for callbacks that runs as long as the suite, and job specs with callback URLs there. */
function listen(suite: Suite) {
  const received = new Map<string, ReceivedCallback[]>();
  const server = createServer(async (request, response) => {
    const id = request.url?.slice(1) ?? '';
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
    const callback = { body: await buffer(request), headers: Object.fromEntries(headers) };
    received.set(id, [...(received.get(id) ?? []), callback]);
    response.end();
  });
  let url = '';
  before(async () => {
    url = await listenOn(server);
  });
  after(() => closeServer(server));
  return {
    /** The callbacks for an attempt, oldest first, once that many have arrived. */
    arrived: (id: string, count: number) =>
      until(
        async () => received.get(id) ?? [],
        ({ length }) => length >= count,
      ),
    jobSpecCallingBack: (): JobSpec => {
      const jobSpec = newJobSpec();
      return { ...jobSpec, callbackUrl: `${url}/${jobSpec.attemptId}` };
    },
    read: (callback: ReceivedCallback) => readCallback(suite, callback),
    isSigned: () => suite.of.callbacks === 'signed',
  };
}

async function readCallback(suite: Suite, callback: ReceivedCallback): Promise<Callback> {
  const read = suite.provider().readCallback;
  assert.ok(read, 'a provider that calls back reads callbacks');
  return read(callback);
}
