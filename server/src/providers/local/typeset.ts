import type { Font } from './font.ts';

/** Lines of text that fit a box, and the size they fit at. */
export interface Typeset {
  lines: string[];
  fontPixels: number;
  linePixels: number;
}

export interface TextBox {
  width: number;
  height: number;
  /** Sizes to try, largest first. */
  fontPixels: number[];
}

const LEADING = 1.35;
/** Joined and right-to-left letters are drawn a little wider or narrower than their sum. */
const SLACK = 0.97;
const MISSING = '□';
const ELLIPSIS = '…';

/**
 * Sets any text into a box: at the largest size that holds all of it, or at the smallest one, cut
 * with an ellipsis. Line breaks of the text are kept, blank lines are not; characters that the
 * font lacks become □. Gives no lines for text without anything to see.
 */
export function typeset(text: string, font: Font, box: TextBox): Typeset {
  const paragraphs = paragraphsOf(text, font);
  let set: Typeset = { lines: [], fontPixels: 0, linePixels: 0 };
  for (const fontPixels of box.fontPixels) {
    const linePixels = Math.round(fontPixels * LEADING);
    const room = Math.max(1, Math.floor(box.height / linePixels));
    const lines = wrapped(paragraphs, font, (box.width * SLACK) / fontPixels, room + 1);
    set = { lines: lines.slice(0, room), fontPixels, linePixels };
    if (lines.length <= room) return set;
  }
  return { ...set, lines: cut(set.lines) };
}

/** The width of a line in ems. */
export function lineEms(line: string, font: Font): number {
  let ems = 0;
  for (const character of line) ems += font.widthOf(character.codePointAt(0) ?? 0) ?? 0;
  return ems;
}

function paragraphsOf(text: string, font: Font): string[][] {
  return text
    .toWellFormed()
    .split(/[\n\r\v\f\u0085\u2028\u2029]+/)
    .map((paragraph) => drawable(paragraph, font).split(' ').filter(Boolean))
    .filter((words) => words.length > 0);
}

/** Only characters the font can draw: no controls, joiners, selectors or direction marks. */
function drawable(text: string, font: Font): string {
  const plain = text.normalize('NFC').replace(/\s/gu, ' ');
  const visible = plain.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu, '');
  return visible.replace(/[^ ]/gu, (character) =>
    font.widthOf(character.codePointAt(0) ?? 0) === null ? MISSING : character,
  );
}

function wrapped(paragraphs: string[][], font: Font, ems: number, most: number): string[] {
  const lines: string[] = [];
  for (const words of paragraphs) {
    let line = '';
    for (const word of words.flatMap((word) => pieces(word, font, ems))) {
      const longer = line === '' ? word : `${line} ${word}`;
      if (lineEms(longer, font) <= ems) line = longer;
      else {
        lines.push(line);
        line = word;
      }
      if (lines.length >= most) return lines;
    }
    lines.push(line);
  }
  return lines.slice(0, most);
}

/** A word, or its parts when it is wider than a line. */
function pieces(word: string, font: Font, ems: number): string[] {
  if (lineEms(word, font) <= ems) return [word];
  const parts: string[] = [];
  let part = '';
  for (const character of word) {
    if (part !== '' && lineEms(part + character, font) > ems) {
      parts.push(part);
      part = '';
    }
    part += character;
  }
  return [...parts, part];
}

function cut(lines: string[]): string[] {
  const last = lines.at(-1) ?? '';
  const shorter = last.includes(' ') ? last.slice(0, last.lastIndexOf(' ')) : dropLast(last);
  return [...lines.slice(0, -1), shorter.replace(/[\s.,;:]+$/u, '') + ELLIPSIS];
}

function dropLast(text: string): string {
  return [...text].slice(0, -2).join('');
}
