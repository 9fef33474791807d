import assert from 'node:assert/strict';
import { test } from 'node:test';
import { product } from './sources.ts';

/** Lines of these rooms that are about no single task, or about no request that has come in. */
const OTHERS = [
  'a wake-up was not sent;',
  'wake-ups are not received for now',
  'create failed;', // the response of its request is logged with the request
  'creates that shared a transaction are done one by one',
  'due tasks could not be claimed',
  'live tasks were given to',
  'the clock of the database was set back',
  'the tasks of waiting requests could not be read',
  'the worker has started',
];

const LINE = /\blog\??\.(?:debug|info|warn|error|fatal)\(([\s\S]*?)\);/g;

test('a log line about a task names the task, and one about a request names the request', () => {
  const ofTask = /\btask\b|\.\.\.ids/;
  const rooms: [RegExp, RegExp][] = [
    [/^server\/src\/tasks\//, ofTask],
    [/^server\/src\/attempts\//, ofTask],
    [/^server\/src\/worker\//, ofTask],
    [/^server\/src\/(?:requests|http)\//, /\brequest\b|^line$/], // `line` is that of each response
  ];
  for (const [room, field] of rooms) {
    const files = product.filter(({ name }) => room.test(name));
    const lines = files.flatMap(({ name, text }) =>
      [...text.matchAll(LINE)].map(([, given = '']) => ({ name, given })),
    );
    assert.ok(lines.length >= 3, String(room));
    for (const { name, given } of lines) {
      if (OTHERS.some((message) => given.includes(message))) continue;
      const [, fields = given] = /^\s*(\{[\s\S]*?\}|\w+),/.exec(given) ?? [];
      assert.match(fields, field, `${name}: ${given}`);
    }
  }
});
