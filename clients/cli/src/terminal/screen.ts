import { env, stderr, stdout } from 'node:process';
import { stripVTControlCharacters, styleText } from 'node:util';

/** A command's output. Results go to standard output, everything else to standard error. */
export interface Screen {
  isJson: boolean;
  /** Whether a person reads the results; programs get plain rows. */
  isForPerson: boolean;
  /** Prints the result: `value` with --json, otherwise the text. */
  result(value: unknown, text: string): void;
  /** Prints a text for a person, at a terminal only. */
  note(text: string): void;
  /** Shows the current progress, at a terminal only; null clears it. */
  progress(text: string | null): void;
}

/** Removes control characters: text from outside must not control the terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  return stripVTControlCharacters(text).replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
}

/** Like `printable`, but keeps lines, tabs and the colours of `styled`. */
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  return text.replace(/(\x1b\[\d+m)|[\0-\x08\x0b-\x1f\x7f-\x9f]/g, '$1');
}

/** JSON without control characters, since it may be shown in a terminal. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\x9f]/g,
    (one) => `\\u00${one.charCodeAt(0).toString(16)}`,
  );
}

const CLEAR = '\r\x1b[K';

/** NO_COLOR (no-color.org) and TERM=dumb turn off all colours, on both streams. */
const hasColours = ({ isTTY }: { isTTY: boolean }) => isTTY && !env.NO_COLOR && env.TERM !== 'dumb';

export function styled(
  style: 'bold' | 'dim' | 'red' | 'green',
  text: string,
  stream: { isTTY: boolean } = stdout,
): string {
  if (!hasColours(stream)) return text;
  return styleText(style, text, { validateStream: false });
}

export function openScreen({ isJson }: { isJson: boolean }): Screen {
  const isWatched = stderr.isTTY && !isJson;
  let shown = false;
  const progress = (text: string | null) => {
    if (!isWatched || env.TERM === 'dumb') return;
    if (text === null && !shown) return;
    const line = printable(text ?? '').slice(0, (stderr.columns || 80) - 1);
    stderr.write(CLEAR + line);
    shown = text !== null;
  };
  return {
    isJson,
    isForPerson: stdout.isTTY && !isJson,
    progress,
    note(text) {
      progress(null);
      if (isWatched) stderr.write(`${withoutControls(text)}\n`);
    },
    result(value, text) {
      progress(null);
      const line = isJson ? jsonText(value) : withoutControls(text);
      if (line !== '') stdout.write(`${line}\n`);
    },
  };
}

/** A table with a header for people; tab-separated values for programs. */
export function table(screen: Screen, head: string[], rows: string[][]): string {
  const clean = rows.map((row) => row.map(printable));
  if (!screen.isForPerson) return clean.map((row) => row.join('\t')).join('\n');
  const all = [head, ...clean];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  const lines = all.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
  return lines
    .map((line, i) => (i === 0 ? styled('dim', line.trimEnd()) : line.trimEnd()))
    .join('\n');
}

const BAR_WIDTH = 24;

export function bar(done: number, total: number): string {
  const share = total > 0 ? Math.min(1, done / total) : 0;
  const full = Math.round(share * BAR_WIDTH);
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}]${percent}`;
}

export function figure(screen: Screen, value: number): string {
  return screen.isForPerson ? value.toLocaleString('en-US') : String(value);
}
