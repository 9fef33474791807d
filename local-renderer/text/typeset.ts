import type { Font } from './font.ts';

/** Lines of text that fit a box, and the font size at which they fit. */
export interface Typeset {
  lines: string[];
  fontPixels: number;
  linePixels: number;
}

export interface TextBox {
  width: number;
  height: number;
  /** Font sizes to try, largest first. */
  fontPixels: number[];
}

/** The line height, as a multiple of the font size. */
const LEADING = 1.35;
/**
 * Joined and right-to-left letters are drawn a little wider or narrower than the sum of their
 * widths.
 */
const SLACK = 0.97;
const MISSING = '□';
const ELLIPSIS = '…';

/**
 * Breaks any text into lines that fit a box, at the largest font size at which all of it fits. If
 * it does not fit at the smallest size, it is truncated with an ellipsis. Keeps the text's line
 * breaks, drops blank lines, and replaces characters that the font lacks by □. Returns no lines for
 * text without visible characters.
 */
export function typeset(text: string, font: Font, box: TextBox): Typeset {
  const paragraphs = paragraphsOf(text, font);
  let set: Typeset = { lines: [], fontPixels: 0, linePixels: 0 };
  for (const fontPixels of box.fontPixels) {
    const linePixels = Math.round(fontPixels * LEADING);
    const maxLines = Math.max(1, Math.floor(box.height / linePixels));
    const lines = wrapped(paragraphs, font, (box.width * SLACK) / fontPixels, maxLines + 1);
    set = { lines: lines.slice(0, maxLines), fontPixels, linePixels };
    if (lines.length <= maxLines) return set;
  }
  return { ...set, lines: truncate(set.lines) };
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

/** Removes controls, joiners, selectors and direction marks; replaces what the font lacks by □. */
function drawable(text: string, font: Font): string {
  const plain = text.normalize('NFC').replace(/\s/gu, ' ');
  const visible = plain.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu, '');
  return visible.replace(/[^ ]/gu, (character) =>
    font.widthOf(character.codePointAt(0) ?? 0) === null ? MISSING : character,
  );
}

function wrapped(paragraphs: string[][], font: Font, ems: number, maxLines: number): string[] {
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
      if (lines.length >= maxLines) return lines;
    }
    lines.push(line);
  }
  return lines.slice(0, maxLines);
}

/** The word, split into parts if it is wider than a line. */
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

function truncate(lines: string[]): string[] {
  const last = lines.at(-1) ?? '';
  const shorter = last.includes(' ') ? last.slice(0, last.lastIndexOf(' ')) : dropLast(last);
  return [...lines.slice(0, -1), shorter.replace(/[\s.,;:]+$/u, '') + ELLIPSIS];
}

function dropLast(text: string): string {
  return [...text].slice(0, -2).join('');
}
