import { csvLine } from '../kernel/text/csv.ts';
import type { RowStream } from '../operator/verb/row-stream.ts';
import { printPlain } from './print.ts';

/** How many rows of a table have the same widths, when it is printed for people. */
const TABLE_ROWS = 500;

/** The text to print of a stream of rows, in pieces. */
export function printRows(stream: RowStream, isJson: boolean): AsyncIterable<string> {
  if (isJson) return json(stream);
  return stream.isCsv ? csv(stream) : plain(stream);
}

async function* json({ name, rows, summary }: RowStream): AsyncGenerator<string> {
  yield `{${JSON.stringify(name)}:[`;
  let separator = '';
  for await (const row of rows) {
    yield separator + JSON.stringify(row);
    separator = ',\n';
  }
  yield `],${JSON.stringify(summary()).slice(1)}\n`;
}

async function* csv({ columns, rows }: RowStream): AsyncGenerator<string> {
  yield csvLine(columns);
  for await (const row of rows) yield csvLine(Object.values(row));
}

async function* plain({ rows, summary }: RowStream): AsyncGenerator<string> {
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
