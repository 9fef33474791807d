import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJobId } from './job-id.ts';

test('ids as providers write them are valid', () => {
  const given = ['cgt-20260901-x7k', '024ca5b1-45d3-4afd-883e-ad3abe2a1c4d', 'a.b:c_D', '7'];
  for (const id of [...given, 'x'.repeat(200)]) assert.ok(isJobId(id), id);
});

test('ids that select another resource in a URL, or that can’t be stored, are not valid', () => {
  const others = [
    '',
    '.',
    '..',
    '../x',
    'a/b',
    'a b',
    'a\n',
    'a%2f',
    'a?b',
    'é',
    '\u0000',
    '\ud83d',
  ];
  for (const id of [...others, 'x'.repeat(201), 7, null, undefined, ['a']]) {
    assert.ok(!isJobId(id), JSON.stringify(id));
  }
});
