import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { loadFont } from './font.ts';
import { lineEms, typeset } from './typeset.ts';

const font = loadFont();
const box = { width: 600, height: 200, fontPixels: [60, 40, 20] };

test('a short text gets the largest font size', () => {
  assert.deepEqual(typeset('Hello there', font, box).lines, ['Hello there']);
  assert.equal(typeset('Hello there', font, box).fontPixels, 60);
});

test('a text too long for the box is truncated at a word, with an ellipsis', () => {
  const set = typeset('many words '.repeat(400), font, box);
  assert.equal(set.fontPixels, 20);
  assert.equal(set.lines.length, Math.floor(200 / set.linePixels));
  assert.match(set.lines.at(-1) ?? '', /(many|words)…$/);
});

test('line breaks are kept, blank lines are dropped', () => {
  assert.deepEqual(typeset('one\r\n\n two \u2028three', font, box).lines, ['one', 'two', 'three']);
});

test('a character that the font lacks becomes □, an invisible one is dropped', () => {
  const { lines } = typeset('中 a\u0000\u0007\u200d\u202eb \ud800', font, box);
  assert.deepEqual(lines, ['□ ab \ufffd']);
});

test('text without visible characters gives no lines', () => {
  for (const text of ['', ' \n\t', '\u0000', '\u200b\u202e']) {
    assert.deepEqual(typeset(text, font, box).lines, []);
  }
});

test('the lines of any text fit the box and are not empty', () => {
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
