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

test('a list of things within a result is a section, entry by entry', () => {
  const attempt = { id: 'att_1', evidence: [{ source: 'sender', finding: { kind: 'unknown' } }] };
  const text = printPlain({ id: 'task_1', attempts: [attempt] });
  const evidence = [
    '   evidence',
    '   1.',
    '      source   sender',
    '      finding  {"kind":"unknown"}',
  ];
  const expected = ['id  task_1', '', 'attempts', '1.', '   id  att_1', '', ...evidence, ''];
  assert.equal(text, expected.join('\n'));
});
