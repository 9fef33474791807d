import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import dictionary from 'dictionary-en-gb';
import nspell from 'nspell';
import { filesOf, GUIDES } from '../../../console/docs/contents.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (file: string) => readFile(path.join(ROOT, file), 'utf8');

/** The words of Markdown that people read: no code, no addresses, no names of files. */
function wordsOf(markdown: string): string[] {
  return wordsIn(
    markdown
      .replaceAll(/<!--.*?-->/gs, '')
      .replaceAll(/^```.*?^```/gms, '')
      .replaceAll(/`[^`]*`/g, '')
      .replaceAll(/\]\([^)]*\)/g, ']'),
  );
}

function wordsIn(text: string): string[] {
  const plain = text
    .replaceAll(/https?:\S+|\S+@\S+|[\w/.-]+\.(?:md|json|ts|yml|com)\b/g, '')
    .replaceAll(/[\w-]*[_/\d][\w/-]*/g, '') // names of fields, paths, and what has figures
    .replaceAll('’', "'");
  const words = plain.match(/[A-Za-z]+(?:'[a-z]+)?/g) ?? [];
  return words
    .filter((word) => !/[A-Z].*[A-Z]/.test(word)) // HTTP, TypeScript
    .map((word) => word.replace(/'s$/, ''));
}

/** What openapi.json says in words. */
function descriptionsIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) =>
    typeof value === 'string' && /^(description|summary|title)$/.test(name)
      ? wordsIn(value.replaceAll(/\b\w*[a-z][A-Z]\w*/g, ''))
      : descriptionsIn(value),
  );
}

test('the words that customers read are spelled as in British English', async () => {
  const own = (await read('docs/words.txt')).trim().split('\n');
  assert.deepEqual(own, [...new Set(own)].sort(), 'docs/words.txt is sorted');
  const spelling = nspell(dictionary);
  const needless = own.filter((word) => spelling.correct(word));
  assert.deepEqual(needless, [], 'the dictionary has these words of docs/words.txt');
  for (const word of own) spelling.add(word);
  const used = new Set<string>();
  const wrong: string[] = [];
  const check = (place: string, words: string[]) => {
    for (const word of new Set(words)) {
      used.add(word);
      if (!spelling.correct(word)) wrong.push(`${place}: ${word}`);
    }
  };
  for (const file of [...filesOf(GUIDES), 'README.md']) check(file, wordsOf(await read(file)));
  check('openapi.json', descriptionsIn(JSON.parse(await read('openapi.json'))));
  assert.deepEqual(wrong, [], 'correct them, or add words of our field to docs/words.txt');
  const unused = own.filter((word) => !used.has(word));
  assert.deepEqual(unused, [], 'nothing has these words of docs/words.txt');
});
