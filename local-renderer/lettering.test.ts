import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { subtitles } from './lettering.ts';

const frame = { width: 640, height: 360 };
const place = { alignment: 5, height: 0.7, largest: 0.1, fromSeconds: 0.5, toSeconds: 4 } as const;

function lettersOf(prompt: string) {
  const script = subtitles(frame, prompt, place);
  const [, pixels = ''] = /^Style: Prompt,DejaVu Sans,(\d+)/m.exec(script) ?? [];
  const [, text = ''] = /^Dialogue: 0:00:00\.50,0:00:04\.00,Prompt,(.*)$/m.exec(script) ?? [];
  return { pixels: Number(pixels), text };
}

test('nothing in a prompt is read as a command of the script', () => {
  const { text } = lettersOf('a\r\n\n{\\b1}b\\N c\u0000\ud800');
  assert.equal(text, 'a \\{\\\u2060b1\\}b\\\u2060N c \ufffd');
  assert.doesNotMatch(lettersOf(`${'x'.repeat(15)}{b}`).text, /(?<!\\)[{}]/);
  const lines = subtitles(frame, '', place).split('\n').length;
  const prompts = fc.string({ unit: 'binary', maxLength: 4000, size: 'max' });
  fc.assert(
    fc.property(prompts, (prompt) => {
      assert.equal(subtitles(frame, prompt, place).split(/[\r\n]/).length, lines);
      assert.doesNotMatch(lettersOf(prompt).text, /\\[^{}\u2060]|(?<!\\)[{}]/);
    }),
    { numRuns: 50 },
  );
});
