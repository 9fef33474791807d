import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowStream } from '../operator/verb/row-stream.ts';
import { printRows } from './print-rows.ts';

const ROWS = [
  { at: new Date(0), note: 'plain', credits: 5 },
  { at: new Date(0), note: 'with "quotes", a comma\nand a line', credits: -1 },
  { at: new Date(0), note: null, credits: 0 },
];

function streamOf(rows: readonly object[], isCsv = false): RowStream {
  const columns = ['at', 'note', 'credits'];
  const read = async function* () {
    yield* rows;
  };
  const summary = () => ({ total: 4 });
  return new RowStream({ name: 'rows', columns, rows: read(), isCsv, summary });
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

test('as JSON it is one value, also without rows', async () => {
  assert.deepEqual(JSON.parse(await textOf(printRows(streamOf(ROWS), true))), {
    rows: JSON.parse(JSON.stringify(ROWS)),
    total: 4,
  });
  assert.deepEqual(JSON.parse(await textOf(printRows(streamOf([]), true))), { rows: [], total: 4 });
});

test('as CSV it has a line of names, quotes what needs it, and has no totals', async () => {
  assert.equal(
    await textOf(printRows(streamOf(ROWS, true), false)),
    'at,note,credits\r\n' +
      '1970-01-01T00:00:00.000Z,plain,5\r\n' +
      '1970-01-01T00:00:00.000Z,"with ""quotes"", a comma\nand a line",-1\r\n' +
      '1970-01-01T00:00:00.000Z,,0\r\n',
  );
});

test('for people it is tables of 500 rows, and the totals', async () => {
  const many = Array.from({ length: 501 }, (_, i) => ({ at: null, note: 'x', credits: i }));
  const text = await textOf(printRows(streamOf(many), false));
  assert.equal(text.match(/^at /gm)?.length, 2);
  assert.match(text, /\n-\s+x\s+500\ntotal\s+4\n$/);
});
