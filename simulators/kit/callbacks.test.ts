import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startCallbackHost } from '../test/callback-host.ts';
import { type SimulatorProcess, startSimulator } from './process.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'callbacks-'));
const callbacks = await startCallbackHost();
after(async () => {
  await callbacks?.close();
  rmSync(folder, { recursive: true });
});

const input = (prompt: string) => ({ prompt, resolution: '480p' });
const PROVIDERS = {
  fal: {
    key: 'Key k',
    submit: (prompt: string) =>
      [
        `/bytedance/seedance-2.0/fast/text-to-video?fal_webhook=${callbacks.url(prompt)}`,
        input(prompt),
      ] as const,
    cancel: ['PUT', (id: string) => `/bytedance/seedance-2.0/requests/${id}/cancel`] as const,
    id: 'request_id',
    endings: ['ERROR', 'OK'],
  },
  replicate: {
    key: 'Bearer t',
    submit: (prompt: string) =>
      [
        '/v1/models/bytedance/seedance-2.0/predictions',
        {
          input: input(prompt),
          webhook: callbacks.url(prompt),
          webhook_events_filter: ['completed'],
        },
      ] as const,
    cancel: ['POST', (id: string) => `/v1/predictions/${id}/cancel`] as const,
    id: 'id',
    endings: ['aborted', 'succeeded'],
  },
};

for (const name of ['fal', 'replicate'] as const) {
  const provider = PROVIDERS[name];
  let simulator: SimulatorProcess;

  async function ask(method: string, target: string, body?: unknown): Promise<string> {
    const headers = { authorization: provider.key };
    const text = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(simulator.url + target, { method, headers, body: text });
    assert.ok(response.ok, `${target}: ${response.status}`);
    return String(Object(await response.json())[provider.id]);
  }

  /** The statuses of the callbacks of a job, once there is one and the record says so. */
  async function reported(prompt: string): Promise<string[]> {
    const received = await callbacks.arrived(name + prompt, 1);
    const isReported = async () =>
      (await simulator.jobs()).some((job) => job.prompt === name + prompt && job.isReported);
    while (!(await isReported())) await delay(20);
    return received.map(({ body }) => JSON.parse(Buffer.from(body).toString()).status);
  }

  const submit = (prompt: string) => {
    const [target, body] = provider.submit(name + prompt);
    return ask('POST', target, body);
  };
  const restart = async (jobSeconds: string) => {
    await simulator?.kill();
    simulator = await startSimulator(name, folder, ['--job-seconds', jobSeconds]);
  };

  test(`${name} calls back at a cancel, and once for a job that ended while it was down`, async () => {
    after(() => simulator?.kill());
    await restart('600');
    const [method, targetOf] = provider.cancel;
    await ask(method, targetOf(await submit('canceled')));
    assert.deepEqual(await reported('canceled'), provider.endings.slice(0, 1));
    await submit('down');
    await restart('0.05');
    assert.deepEqual(await reported('down'), provider.endings.slice(1));
    await restart('0.05');
    await submit('last');
    await reported('last');
    for (const prompt of ['canceled', 'down']) {
      assert.equal(callbacks.received(name + prompt).length, 1);
    }
  });
}
