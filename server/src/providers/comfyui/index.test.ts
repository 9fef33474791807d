import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { assertRefused, createFrom, MALFORMED } from '../../../test/providers/settings.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { UsageError } from '../../kernel/errors.ts';
import { comfyui } from './index.ts';

const BASE_URL = 'http://10.0.0.5:8188';

test('an address and workflows configure ComfyUI, with its defaults', () => {
  const COMFYUI_WORKFLOWS = 'a.json, b.json';
  assert.deepEqual(comfyui.readSettings({ COMFYUI_BASE_URL: `${BASE_URL}/`, COMFYUI_WORKFLOWS }), {
    baseUrl: BASE_URL,
    authorization: undefined,
    workflowFiles: ['a.json', 'b.json'],
    frameRules: { framesPerSecond: 24, frameStep: 1 },
    jobLimitSeconds: 3600,
  });
  assert.equal(comfyui.readSettings({}), undefined);
});

test('with an unusable workflow file the service does not start, and the message names it', async () => {
  await using folder = await temporaryFolder();
  await writeFile(path.join(folder.path, 'broken.json'), '{');
  for (const name of ['missing.json', 'broken.json']) {
    const COMFYUI_WORKFLOWS = path.join(folder.path, name);
    await assert.rejects(
      createFrom(comfyui, { COMFYUI_BASE_URL: BASE_URL, COMFYUI_WORKFLOWS }),
      (error: unknown) =>
        error instanceof UsageError &&
        error.message.startsWith('COMFYUI_WORKFLOWS: ') &&
        error.message.includes(name),
    );
  }
});

test('a malformed value is refused, also without an address', () => {
  assertRefused(comfyui, {
    COMFYUI_BASE_URL: MALFORMED.address,
    COMFYUI_AUTHORIZATION: MALFORMED.secret,
    COMFYUI_WORKFLOWS: [',', 'a.json,', 'a.json,,b.json'],
    COMFYUI_FRAMES_PER_SECOND: ['0', 'film'],
    COMFYUI_FRAME_STEP: ['0', '1.5'],
    COMFYUI_JOB_LIMIT_SECONDS: ['0', 'for ever'],
  });
});
