import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Value } from 'typebox/value';
import { startCallbackHost } from '../test/callback-host.ts';
import { createReporter } from './callbacks.ts';
import type { Fault } from './faults.ts';
import { BaseJobSchema, openRecord } from './record.ts';
import { stageOf } from './stage.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'callbacks-'));
const callbacks = await startCallbackHost();
after(async () => {
  await callbacks?.close();
  rmSync(folder, { recursive: true });
});

/** A reporter of the jobs in the record, as at the start of a simulator. */
function start(jobSeconds: number) {
  const record = openRecord(path.join(folder, 'jobs.jsonl'), (job) =>
    Value.Parse(BaseJobSchema, job),
  );
  const reporter = createReporter(record, jobSeconds, {
    rules: { timeoutSeconds: 5, retries: 1, retrySeconds: 0.1 },
    ends: new Set(['succeeded']),
    wordOf: (job) => stageOf(job, jobSeconds),
    deliveryOf: (_, word) => ({ body: word, headers: {} }),
    forgedOf: () => ({ body: 'forged', headers: {} }),
  });
  const begin = async (id: string, kind?: Fault['kind']) => {
    const quirks: Fault[] = kind ? [{ kind }] : [];
    const given = { id, prompt: id, callbackUrl: callbacks.url(id), origin: '', reported: null };
    const job = { ...given, createdAt: Date.now(), forcedStatus: null, quirks };
    record.put(job);
    await reporter.begin(job, 'early');
  };
  return { begin, get: record.get };
}

async function received(id: string, count: number): Promise<string[]> {
  const bodies = await callbacks.arrived(id, count);
  return bodies.map(({ body }) => Buffer.from(body).toString());
}

test('each change of status is reported once, in order; faults make it early, forged or silent', async () => {
  const { begin } = start(1.5);
  await begin('early', 'callback_early');
  assert.deepEqual(await received('early', 1), ['early']);
  await Promise.all([
    begin('plain'),
    begin('forged', 'callback_forged'),
    begin('silent', 'callback_missing'),
  ]);
  const statuses = ['queued', 'running', 'succeeded'];
  assert.deepEqual(await received('plain', 3), statuses);
  assert.deepEqual(await received('early', 4), ['early', ...statuses]);
  assert.deepEqual(
    await received('forged', 6),
    statuses.flatMap((word) => ['forged', word]),
  );
  assert.deepEqual(callbacks.received('silent'), []);
});

test('a job that ended while the simulator was down is reported at its next start, once', async () => {
  const { begin, get } = start(600);
  await begin('down');
  assert.deepEqual(await received('down', 1), ['queued']);
  while (get('down')?.reported !== 'queued') await delay(10);
  for (let starts = 0; starts < 2; starts += 1) {
    const restarted = start(0.01);
    for (let wait = 0; restarted.get('down')?.reported !== 'succeeded'; wait += 1) {
      assert.ok(wait < 500, 'not reported');
      await delay(10);
    }
  }
  await delay(100);
  assert.deepEqual(await received('down', 2), ['queued', 'succeeded']);
});
