import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printPlain } from './print.ts';

test('one result is a line per member, its values aligned', () => {
  const text = printPlain({ id: 'key_1', created: new Date(0), name: null, tags: [] });
  assert.equal(
    text,
    'id       key_1\ncreated  1970-01-01T00:00:00.000Z\nname     -\ntags     none\n',
  );
});

test('what is nested is printed as JSON', () => {
  assert.equal(printPlain({ paid: { available: 5 } }), 'paid  {"available":5}\n');
  assert.equal(printPlain({ problems: ['a'] }), 'problems  ["a"]\n');
});

test('a list is a table with its names above', () => {
  const rows = [
    { id: 'a', name: 'first' },
    { id: 'bbb', name: undefined },
  ];
  assert.equal(printPlain(rows), 'id   name\na    first\nbbb  -\n');
});

test('an empty list says so', () => {
  assert.equal(printPlain([]), 'None.\n');
});
