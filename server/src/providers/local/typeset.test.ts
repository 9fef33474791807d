import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { loadFont } from './font.ts';
import { lineEms, typeset } from './typeset.ts';

const font = loadFont();
const box = { width: 600, height: 200, fontPixels: [60, 40, 20] };

test('a short text gets the largest letters', () => {
  assert.deepEqual(typeset('Hello there', font, box).lines, ['Hello there']);
  assert.equal(typeset('Hello there', font, box).fontPixels, 60);
});

test('a text too long for the box is cut at a word, with an ellipsis', () => {
  const set = typeset('many words '.repeat(400), font, box);
  assert.equal(set.fontPixels, 20);
  assert.equal(set.lines.length, Math.floor(200 / set.linePixels));
  assert.match(set.lines.at(-1) ?? '', /(many|words)…$/);
});

test('line breaks stay, blank lines go', () => {
  assert.deepEqual(typeset('one\r\n\n two \u2028three', font, box).lines, ['one', 'two', 'three']);
});

test('what the font lacks becomes a box, and what can not be seen goes', () => {
  const { lines } = typeset('中 a\u0000\u0007\u200d\u202eb \ud800', font, box);
  assert.deepEqual(lines, ['□ ab \ufffd']);
});

test('nothing to see gives no lines', () => {
  for (const text of ['', ' \n\t', '\u0000', '\u200b\u202e']) {
    assert.deepEqual(typeset(text, font, box).lines, []);
  }
});

test('whatever the text, its lines fit the box and have something on them', () => {
  const text = fc.string({ unit: 'binary', maxLength: 4000, size: 'max' });
  fc.assert(
    fc.property(text, (prompt) => {
      const { lines, fontPixels, linePixels } = typeset(prompt, font, box);
      assert.ok(lines.length * linePixels <= box.height);
      for (const line of lines) {
        assert.match(line, /^\S(.*\S)?$/u);
        assert.ok(lineEms(line, font) * fontPixels <= box.width);
      }
    }),
    { numRuns: 50 },
  );
});
