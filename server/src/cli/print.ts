import { formatMoney } from '../kernel/currency.ts';
import { UsageError } from '../kernel/errors.ts';
import { csvLine } from '../kernel/text/csv.ts';
import { visibleLines, visibleText } from '../kernel/text/visible-text.ts';
import type { RowStream } from '../operator/verb/verb.ts';

/**
 * Formats a command's result for people: a line per member, or a table for a list. Amounts beside a
 * `currency` are shown as money. Texts from strangers are made safe (`visibleText`).
 */
export function printPlain(result: unknown): string {
  if (Array.isArray(result)) return result.length === 0 ? 'None.\n' : table(result.map(flat));
  return details(Object(result));
}

type Flat = Record<string, string>;

function flat(value: unknown): Flat {
  const { currency } = Object(value);
  const members = Object.entries(value ?? {}).map(([name, member]) => [
    name,
    typeof currency === 'string' && typeof member === 'number' && MONEY.has(name)
      ? formatMoney(member, currency)
      : text(member),
  ]);
  return Object.fromEntries(members);
}

const MONEY = new Set(['price', 'amount', 'refunded', 'disputed']);

function text(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value) && value.length === 0) return 'none';
  return visibleText(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function lines(row: Flat): string {
  const width = Math.max(0, ...Object.keys(row).map((name) => name.length));
  return Object.entries(row)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}\n`)
    .join('');
}

/** Formats a nested list of objects: a heading, then each entry under its number. */
function section(name: string, entries: object[]): string {
  const bodies = entries.map(
    (entry, i) => `${i + 1}.\n${details(entry).replace(/^(?=.)/gm, '   ')}`,
  );
  return `\n${name}\n${bodies.join('')}`;
}

function details(value: object): string {
  const members = Object.entries(value);
  const plain = members.filter(([, member]) => !isSection(member));
  const sections = members.flatMap(([name, member]) =>
    isSection(member) ? [section(name, member)] : [],
  );
  return lines(flat(Object.fromEntries(plain))) + sections.join('');
}

function isSection(value: unknown): value is object[] {
  return Array.isArray(value) && value.some((entry) => typeof entry === 'object' && entry !== null);
}

function table(rows: Flat[]): string {
  const names = Object.keys(rows[0] ?? {});
  const widths = names.map((name) =>
    Math.max(name.length, ...rows.map((row) => (row[name] ?? '').length)),
  );
  const line = (cells: string[]) =>
    `${cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()}\n`;
  return line(names) + rows.map((row) => line(names.map((name) => row[name] ?? ''))).join('');
}

const TABLE_ROWS = 500;

export function printRows(stream: RowStream, isJson: boolean): AsyncIterable<string> {
  if (isJson) return json(stream);
  return stream.content.isCsv ? csv(stream) : plain(stream);
}

async function* json({ content: { name, rows, summary } }: RowStream): AsyncGenerator<string> {
  yield `{${JSON.stringify(name)}:[`;
  let separator = '';
  for await (const row of rows) {
    yield separator + JSON.stringify(row);
    separator = ',\n';
  }
  yield `],${JSON.stringify(summary()).slice(1)}\n`; // its members follow the rows, in one object
}

async function* csv({ content: { columns, rows } }: RowStream): AsyncGenerator<string> {
  yield csvLine(columns);
  for await (const row of rows) yield csvLine(Object.values(row));
}

async function* plain({ content: { rows, summary } }: RowStream): AsyncGenerator<string> {
  let part: object[] = [];
  for await (const row of rows) {
    part.push(row);
    if (part.length < TABLE_ROWS) continue;
    yield printPlain(part);
    part = [];
  }
  if (part.length > 0) yield printPlain(part);
  yield printPlain(summary());
}

/** Prints why the program ends. @returns the exit code */
export function printFailure(error: unknown): number {
  const isUsage = error instanceof UsageError;
  const text = isUsage ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`framewright: ${visibleLines(text ?? '')}\n`);
  return isUsage ? 2 : 1;
}
