import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { UsageError } from '../kernel/errors.ts';
import { requireDataFolder } from './serve.ts';

test('the data folder is made, and stays empty', async () => {
  await using folder = await temporaryFolder();
  const dataDir = path.join(folder.path, 'of/data');
  await requireDataFolder(dataDir);
  await requireDataFolder(dataDir);
  assert.deepEqual(await readdir(dataDir), []);
});

const ANYWHERE = process.platform === 'linux' ? ['/proc/x', '/proc/x/y', '/sys/x'] : [];

test('a data folder that can not be made is refused in one line', async () => {
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'file');
  await writeFile(file, '');
  for (const dataDir of [file, path.join(file, 'data'), ...ANYWHERE]) {
    await assert.rejects(requireDataFolder(dataDir), (error) => {
      assert.ok(error instanceof UsageError, dataDir);
      assert.match(
        error.message,
        /^the data folder can't be used: E[^\n]* Set DATA_DIR to [^\n]*$/,
      );
      return true;
    });
  }
});
