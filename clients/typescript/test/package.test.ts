import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { TYPES_FILE, typesText } from '../write-declarations.ts';

test('the types are those of openapi.json: npm run openapi', async () => {
  assert.equal(await readFile(TYPES_FILE, 'utf8'), typesText());
});
