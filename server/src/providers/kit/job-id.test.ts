import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJobId } from './job-id.ts';

test('ids as providers give them are taken', () => {
  const given = ['cgt-20260901-x7k', '024ca5b1-45d3-4afd-883e-ad3abe2a1c4d', 'a.b:c_D', '7'];
  for (const id of [...given, 'x'.repeat(200)]) assert.ok(isJobId(id), id);
});

test('what could lead elsewhere in an address, or can not be stored, is no id', () => {
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
