import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MIGRATIONS_FOLDER,
  numberOf,
  readMigrations,
  statementsOf,
} from '../../src/database/migration/migration-files.ts';

const files = await readMigrations(MIGRATIONS_FOLDER);

test('a number of a migration is used once', () => {
  const numbers = files.map(({ name }) => numberOf(name));
  assert.deepEqual([...new Set(numbers)], numbers);
});

test('a file without a transaction has only statements that may run again', () => {
  for (const file of files.filter(({ isTransaction }) => !isTransaction)) {
    assert.ok(statementsOf(file).length > 0, file.name);
  }
});

test('a transaction builds an index only on a table that it creates', () => {
  const wrong = files
    .filter(({ isTransaction }) => isTransaction)
    .flatMap(({ name, text }) => {
      const created = tablesIn(text, /^create (?:unlogged )?table (\w+)/gim);
      const indexed = tablesIn(text, /^create (?:unique )?index \w+\s+on (\w+)/gim);
      return indexed
        .filter((table) => !created.includes(table))
        .map((table) => `${name} blocks the writers of ${table}: use "-- transaction: none"`);
    });
  assert.deepEqual(wrong, []);
});

function tablesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, table = '']) => table);
}
