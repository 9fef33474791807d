import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promptIdOf } from './prompt-id.ts';

const CANONICAL_V8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('the prompt id of an attempt never changes', () => {
  assert.equal(promptIdOf('att_00VZqJ2n1'), 'b86fcae5-015d-89c9-9f6f-06a54da24bef');
});

test('prompt ids are canonical lower-case UUIDs, a different one for each attempt', () => {
  const ids = Array.from({ length: 1000 }, (_, index) => promptIdOf(`att_${index}`));
  for (const id of ids) assert.match(id, CANONICAL_V8);
  assert.equal(new Set(ids).size, ids.length);
});
