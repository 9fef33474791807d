import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowStream } from '../operator/verb/verb.ts';
import { printPlain, printRows } from './print.ts';

for (const [title, result, expected] of [
  [
    'an object is one line per member, with aligned values',
    { id: 'key_1', created: new Date(0), name: null, tags: [] },
    'id       key_1\ncreated  1970-01-01T00:00:00.000Z\nname     -\ntags     none\n',
  ],
  ['a nested object is JSON', { paid: { available: 5 } }, 'paid  {"available":5}\n'],
  ['a list of texts is JSON', { problems: ['a'] }, 'problems  ["a"]\n'],
  [
    'a list is a table',
    [
      { id: 'a', b: 1 },
      { id: 'cc', b: null },
    ],
    'id  b\na   1\ncc  -\n',
  ],
  ['an empty list is "None."', [], 'None.\n'],
] as const) {
  test(`printed for people, ${title}`, () => assert.equal(printPlain(result), expected));
}

test('amounts of money are printed as they are charged, in all rows and sections', () => {
  const order = { price: 500, currency: 'ugx', refunded: 0, credits: 500, amount: null };
  const plain =
    'price     UGX\u00a05\ncurrency  ugx\nrefunded  UGX\u00a00\ncredits   500\namount    -\n';
  assert.equal(printPlain(order), plain);
  assert.match(printPlain([order, { ...order, currency: 'huf' }]), /HUF\u00a05\.00/);
});

test('text of strangers moves no cursor, begins no line and reverses no text', () => {
  const name = 'a\u001b[2Jb\u009b1mc\u202ed\u2066e\u200bf\rg\nh\u2028i\u0007';
  const shown = 'a\\u001b[2Jb\\u009b1mc\\u202ed\\u2066e\\u200bf\\u000dg\\u000ah\\u2028i\\u0007';
  assert.equal(printPlain({ name }), `name  ${shown}\n`);
  assert.equal(printPlain([{ name }]), `name\n${shown}\n`);
  assert.doesNotMatch(printPlain({ request: { prompt: name }, of: [{ name }] }), UNSAFE);
  assert.equal(printPlain({ name: 'Zoë 東京 👩‍💻 می‌خواهم' }), 'name  Zoë 東京 👩‍💻 می‌خواهم\n');
});

/** Control and invisible characters, except line ends. */
const UNSAFE = /[^\P{Cc}\n]|[\u200b\u2028\u202e\u2066]/u;

const ROWS = [
  { at: new Date(0), note: 'with "quotes"', credits: 5 },
  { at: new Date(0), note: null },
];

function streamOf(rows: readonly object[]): RowStream {
  const columns = ['at', 'note', 'credits'];
  const read = async function* () {
    yield* rows;
  };
  const summary = () => ({ total: 4 });
  return new RowStream({ name: 'rows', columns, rows: read(), isCsv: false, summary });
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

test('a row stream as JSON is one value, even without rows', async () => {
  assert.deepEqual(JSON.parse(await textOf(printRows(streamOf(ROWS), true))), {
    rows: JSON.parse(JSON.stringify(ROWS)),
    total: 4,
  });
  assert.deepEqual(JSON.parse(await textOf(printRows(streamOf([]), true))), { rows: [], total: 4 });
});
