import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, sources } from '../repository/sources.ts';
import { FILES_LEFT_OUT } from './thorough.ts';

test('docs/testing.md names each file of which a usual run leaves something out', async () => {
  const page = await readFile(path.join(ROOT, 'docs/testing.md'), 'utf8');
  const [, section = ''] = page.split('## What `npm test` leaves out');
  const [table = ''] = section.split('\n## ');
  const partly = sources.filter(
    ({ name, text }) =>
      name.endsWith('.test.ts') &&
      (/\b(thoroughly|testOfRow)\(|!LEFT_OUT|&& LEFT_OUT|LEFT_OUT \?/.test(text) ||
        text.includes("TESTS !== 'all'")),
  );
  assert.ok(partly.length > 10);
  const files = [...FILES_LEFT_OUT, ...partly.map(({ name }) => name)];
  const missing = files.filter((file) => !table.includes(path.basename(file, '.test.ts')));
  assert.deepEqual(missing, []);
});
