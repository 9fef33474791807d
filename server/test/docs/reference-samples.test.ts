import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { withoutPython } from '../../../clients/python/test/virtual-environment.ts';
import { longTest } from '../long.ts';
import { openReaders, type Reader, type Readers, type Tool } from './reader.ts';

/** The sources of the reference: the compiler of the server does not follow this import. */
const FOLDER = new URL('../../../console/docs/', import.meta.url);
const { readOpenApi } = await import(new URL('openapi.ts', FOLDER).href);
const { operationSamples } = await import(new URL('operation-samples.ts', FOLDER).href);
const { operations }: { operations: { operationId: string; path: string }[] } = readOpenApi(
  path.join(import.meta.dirname, '../../../openapi.json'),
);

const NO_CURL = spawnSync('curl', ['--version']).error ? 'curl is not installed' : false;
const SKIPPED: Partial<Record<Tool, string | false>> = { curl: NO_CURL, Python: withoutPython };

let readers: Readers;
before(async () => {
  readers = await openReaders();
});
after(() => readers.close());

/** A task, upload, endpoint or event of the reader, in place of the one that a sample names. */
async function withOwnIds(
  reader: Reader,
  { operationId, path }: (typeof operations)[number],
  text: string,
) {
  if (path.includes('/tasks/')) {
    const isEnded = operationId === 'deleteTaskOutput';
    reader.env.TASK = await reader.newTask(isEnded ? 'A boat' : 'A boat, test-slow');
    if (isEnded) await readers.fixture.settled(reader.env.TASK);
  }
  if (path.includes('/uploads/{id}')) return text.replace(/\bobj_\w+/, await reader.newUpload());
  if (!path.includes('/webhooks/')) return text;
  const made = await reader.request('POST', '/webhooks', { events: ['task.completed'] });
  const { id } = (await made.json()) as { id: string };
  await reader.request('POST', `/webhooks/${id}/test`);
  const log = await reader.request('GET', `/webhooks/${id}/deliveries`);
  const [event] = ((await log.json()) as { data: { event_id: string }[] }).data;
  return text.replace(/\bwe_\w+/, id).replace(/\bevt_\w+/, event?.event_id ?? '');
}

/** Samples that a service of these tests refuses, with the reason that it gives. */
const REFUSED: Record<string, string> = {
  createPresignedUpload: 'no_bucket', // it stores files on its own disk
};

for (const [i, operation] of operations.entries()) {
  const samples: { tool: Tool; text: string }[] = operationSamples(operation);
  for (const [j, { tool, text }] of samples.entries()) {
    const { operationId } = operation;
    const skip = SKIPPED[tool] ?? false;
    // Usually one of the first two tools, which each operation has, in turn.
    (j === i % 2 ? test : longTest)(
      `the sample of ${operationId} works with ${tool}`,
      { skip },
      async () => {
        const reader = await readers.newReader();
        const sample = await withOwnIds(reader, operation, text);
        const running = reader.run(tool, sample);
        const reason = REFUSED[operationId];
        if (reason === undefined) await running;
        else await assert.rejects(running, new RegExp(reason));
      },
    );
  }
}

test('each operation has samples of curl and TypeScript, those of videos of all tools', () => {
  for (const operation of operations) {
    const tools = operationSamples(operation).map(({ tool }: { tool: Tool }) => tool);
    assert.deepEqual(tools.slice(0, 2), ['curl', 'TypeScript']);
    if (
      /Video$|Quote$|^getTask$|^listTasks$|^cancelTask$|^getCredits$/.test(operation.operationId)
    ) {
      assert.equal(tools.length, 5, operation.operationId);
    }
  }
});
