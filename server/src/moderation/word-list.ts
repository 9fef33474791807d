import { UsageError } from '../kernel/errors.ts';
import type { Judgement } from './verdicts.ts';

/** One line of the file: words that follow each other in a prompt. */
interface Pattern {
  verdict: 'deny' | 'review';
  words: WordPattern[];
  line: number;
  text: string;
}

/** A word, split at each `*`. `last` is undefined if it has no `*`. */
interface WordPattern {
  first: string;
  middle: string[];
  last: string | undefined;
}

export interface WordList {
  /** The patterns whose first word has no `*`, by that word. */
  byFirstWord: ReadonlyMap<string, Pattern[]>;
  /** Each is tried at each word of a prompt. */
  others: readonly Pattern[];
}

const MAX_PATTERNS = 10_000;
const MAX_OTHERS = 500;
const MAX_CHARACTERS = 200;
const WORDS = /[\p{L}\p{M}\p{N}]+/gu;
const WORDS_OF_PATTERN = /[\p{L}\p{M}\p{N}*]+/gu;

/** Removes case, invisible characters and variant forms of a letter. */
function normalize(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{DI}]/gu, '')
    .toLowerCase();
}

/**
 * Parses lines such as `deny two words` or `review word*`; `#` begins a comment. There is no other
 * syntax, so no pattern is slow.
 * @throws UsageError, a message of one line that names the first wrong line
 */
export function parseWordList(file: string): WordList {
  const patterns = file.split(/\r?\n/).flatMap((text, i) => parseLine(text.trim(), i + 1) ?? []);
  if (patterns.length > MAX_PATTERNS) {
    throw new UsageError(`it has ${patterns.length} patterns: at most ${MAX_PATTERNS} are allowed`);
  }
  const isLiteral = ({ words: [first] }: Pattern) => first?.last === undefined;
  const others = patterns.filter((pattern) => !isLiteral(pattern));
  if (others.length > MAX_OTHERS) {
    throw new UsageError(
      `${others.length} of its patterns have a * in their first word: at most ${MAX_OTHERS} may`,
    );
  }
  const byFirstWord = Map.groupBy(patterns.filter(isLiteral), ({ words }) => words[0]?.first ?? '');
  return { byFirstWord, others };
}

function parseLine(text: string, line: number): Pattern | undefined {
  if (text === '' || text.startsWith('#')) return undefined;
  const refuse = (why: string): never => {
    throw new UsageError(`line ${line}: ${why}`);
  };
  const [, verdict, pattern = ''] = /^(deny|review)\s+(\S.*)$/u.exec(text) ?? [];
  if (verdict !== 'deny' && verdict !== 'review') {
    return refuse('expected "deny" or "review" and words');
  }
  if (pattern.length > MAX_CHARACTERS) refuse(`a pattern has at most ${MAX_CHARACTERS} characters`);
  const strange = /[^\p{L}\p{M}\p{N}* '’.-]/u.exec(pattern)?.[0];
  if (strange !== undefined) refuse(`${JSON.stringify(strange)} means nothing in a pattern`);
  const texts = normalize(pattern).match(WORDS_OF_PATTERN) ?? [];
  if (!texts.some((word) => /[^*]/.test(word))) refuse('a pattern needs a letter or a digit');
  return { verdict, words: texts.map(parseWord), line, text: pattern };
}

function parseWord(text: string): WordPattern {
  const [first = '', ...middle] = text.split('*');
  const last = middle.pop();
  return { first, middle, last };
}

/** The strictest verdict of the list on a prompt; undefined: no pattern occurs in it. */
export function judgeWords(
  { byFirstWord, others }: WordList,
  prompt: string,
): Judgement | undefined {
  const words = normalize(prompt).match(WORDS) ?? [];
  let found: Pattern | undefined;
  for (let start = 0; start < words.length && found?.verdict !== 'deny'; start += 1) {
    for (const patterns of [byFirstWord.get(words[start] ?? '') ?? [], others]) {
      for (const pattern of patterns) {
        const isStricter = found === undefined || pattern.verdict === 'deny';
        if (isStricter && occursAt(pattern, words, start)) found = pattern;
      }
    }
  }
  return found && { verdict: found.verdict, reason: `line ${found.line}: ${found.text}` };
}

function occursAt({ words: pattern }: Pattern, words: string[], start: number): boolean {
  return pattern.every((word, i) => fits(word, words[start + i]));
}

/** Whether a word has the parts in their order; trying the leftmost place of each is enough. */
function fits({ first, middle, last }: WordPattern, word: string | undefined): boolean {
  if (word === undefined) return false;
  if (last === undefined) return word === first;
  if (!word.startsWith(first)) return false;
  let at = first.length;
  for (const part of middle) {
    const place = word.indexOf(part, at);
    if (place === -1) return false;
    at = place + part.length;
  }
  return word.length - last.length >= at && word.endsWith(last);
}
