import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonText } from './json-text.ts';

test('characters that Postgres rejects in JSON are replaced, at any depth', () => {
  const half = '🎬'.slice(0, 1);
  const text = jsonText({ words: ['a\0b', `cut ${half}`], whole: '🎬', none: null, n: 1 });
  assert.equal(text, '{"words":["a�b","cut �"],"whole":"🎬","none":null,"n":1}');
});
