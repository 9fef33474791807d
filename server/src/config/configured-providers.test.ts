import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { recordingLog } from '../../test/recording-log.ts';
import { makeTask, openTaskFixture, scriptedProvider } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { UsageError } from '../kernel/errors.ts';
import { readConfig } from './config.ts';
import { createProviders, type ProviderDeps, warnOfUnserved } from './configured-providers.ts';

/** Parts that no provider asks anything of while it is made. */
function partsOfNothing(): ProviderDeps {
  const unasked = () => {
    throw new Error('nobody should ask');
  };
  return {
    db: { query: unasked, transaction: unasked, snapshot: unasked, close: unasked },
    storage: { put: unasked, open: unasked, delete: unasked },
    guardedFetch: { download: unasked, close: unasked },
    now: unasked,
    observer: { called: unasked },
    submitTimeoutSeconds: 1,
  };
}

const create = (env: Record<string, string>) =>
  createProviders(readConfig(env), scriptedProvider({}), partsOfNothing());

test('all that is configured is there, whoever gets the new tasks', async () => {
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'workflow.json');
  const inputs = { text: '{{prompt}}' };
  await writeFile(file, JSON.stringify({ 1: { class_type: 'CLIPTextEncode', inputs } }));
  const providers = await create({
    ...{ ARK_API_KEY: 'a', ARK_SUBMITS_PER_MINUTE: '180', FAL_API_KEY: 'f' },
    ...{ REPLICATE_API_TOKEN: 'r', REPLICATE_MODEL_MINI: 'acme/mini' },
    ...{ COMFYUI_BASE_URL: 'http://10.0.0.5:8188', COMFYUI_WORKFLOWS: file },
  });
  assert.deepEqual([...providers.keys()], ['scripted', 'ark', 'fal', 'replicate', 'comfyui']);
  const capabilities = (name: string) => providers.get(name)?.capabilities;
  assert.deepEqual(capabilities('ark')?.budgets.submit, { callsPerSecond: 3 });
  assert.deepEqual(capabilities('replicate')?.unsupported, {});
});

test('a setting that an adapter can not use stops the start and is named', async () => {
  await using folder = await temporaryFolder();
  const [missing, broken] = ['missing.json', 'broken.json'].map((name) =>
    path.join(folder.path, name),
  );
  await writeFile(broken ?? '', '{');
  const comfyui = { COMFYUI_BASE_URL: 'http://10.0.0.5:8188' };
  const cases: Array<[Record<string, string>, RegExp]> = [
    [{ ...comfyui, COMFYUI_WORKFLOWS: missing ?? '' }, /^COMFYUI_WORKFLOWS: .*missing\.json/],
    [{ ...comfyui, COMFYUI_WORKFLOWS: broken ?? '' }, /^COMFYUI_WORKFLOWS: .*broken\.json/],
    [{ FAL_API_KEY: 'f', FAL_MODEL: 'acme/other' }, /^FAL_MODEL, .*acme\/other/],
  ];
  for (const [env, words] of cases) {
    await assert.rejects(create(env), (error: unknown) => {
      return error instanceof UsageError && words.test(error.message);
    });
  }
});

test('live tasks of a provider that is not there are warned of, with what to set', async () => {
  const fixture = await openTaskFixture();
  try {
    for (const providerName of ['fal', 'fal', 'replicate', 'local']) {
      await makeTask(fixture, { providerName });
    }
    const { log, lines } = recordingLog();
    const local = scriptedProvider({});
    await warnOfUnserved(
      new Map([
        ['local', local],
        ['replicate', local],
      ]),
      { db: fixture.db, log },
    );
    const [line] = lines.map((text) => JSON.parse(text));
    assert.equal(lines.length, 1);
    assert.deepEqual([line.provider, line.tasks], ['fal', 2]);
    assert.match(line.msg, /set FAL_API_KEY/);
  } finally {
    await fixture.close();
  }
});
