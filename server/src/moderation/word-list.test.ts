import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeWords, parseWordList } from './word-list.ts';

const LIST = parseWordList(`# rules
deny bomb
deny real   person
review gun*
review *stadt
deny a*b*c
deny *武器*
review Straße`);

/** Prompts, and the verdict with the line that caused it. */
const PROMPTS: [prompt: string, expected: string | undefined][] = [
  ['A lighthouse', undefined],
  ['A BOMB!', 'deny 2'],
  ['bombs, bombard', undefined],
  ['a (real)\nperson', 'deny 3'],
  ['really a person', undefined],
  ['real', undefined],
  ['Guns at dawn', 'review 4'],
  ['guns and a bomb', 'deny 2'],
  ['Hauptstadt', 'review 5'],
  ['abc', 'deny 6'],
  ['axbxxc', 'deny 6'],
  ['acb', undefined],
  ['他拿着武器走路', 'deny 7'],
  ['bo\u200bmb', 'deny 2'],
  ['bo\ufe0fm\u034fb', 'deny 2'],
  ['bo\u3164mb', 'deny 2'],
  ['ｂｏｍｂ', 'deny 2'],
  ['*bomb*', 'deny 2'],
  ['STRAßE', 'review 8'],
];

test('a pattern matches whole words, whatever their case, and the strictest verdict counts', () => {
  for (const [prompt, expected] of PROMPTS) {
    const judged = judgeWords(LIST, prompt);
    const line = judged?.verdict !== 'allow' && judged?.reason?.match(/\d+/)?.[0];
    assert.equal(judged && `${judged.verdict} ${line}`, expected, prompt);
  }
});

test('a wrong line is named', () => {
  for (const [file, message] of [
    ['deny a\nbomb', 'line 2: expected "deny" or "review" and words'],
    ['deny', 'line 1: expected "deny" or "review" and words'],
    ['allow a', 'line 1: expected "deny" or "review" and words'],
    ['\n\ndeny (a|b)+', 'line 3: "(" means nothing in a pattern'],
    ['deny **', 'line 1: a pattern needs a letter or a digit'],
    [`review ${'a'.repeat(201)}`, 'line 1: a pattern has at most 200 characters'],
    ['deny a\n'.repeat(10_001), 'it has 10001 patterns: at most 10000 are allowed'],
    ['deny *a\n'.repeat(501), '501 of its patterns have a * in their first word: at most 500 may'],
  ] as const) {
    assert.throws(() => parseWordList(file), { name: 'UsageError', message });
  }
});

test('ten thousand patterns and the longest prompts take no noticeable time', () => {
  const lines = Array.from(
    { length: 10_000 },
    (_, i) => `deny ${i % 20 ? i + 1e6 : `*a*a*a*${i}`} x`,
  );
  const list = parseWordList(lines.join('\n'));
  for (const prompt of ['a'.repeat(4000), 'a '.repeat(2000)]) {
    const before = process.cpuUsage();
    assert.equal(judgeWords(list, prompt), undefined);
    assert.ok(process.cpuUsage(before).user < 2_000_000, 'microseconds');
  }
});
