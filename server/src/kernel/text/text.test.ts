import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from './csv.ts';
import { readIsoTime, withIsoTimes } from './iso-time.ts';

test('fields with separators are quoted, and a missing value is empty', () => {
  const at = new Date(0);
  const line = csvLine(['a,b', 'say "no"', null, undefined, -3, at]);
  assert.equal(line, '"a,b","say ""no""",,,-3,1970-01-01T00:00:00.000Z\r\n');
});

test('a spreadsheet runs no text as a formula', () => {
  assert.equal(csvLine(['=1+1', '+1', '-a', '@a', 'a=1']), "'=1+1,'+1,'-a,'@a,a=1\r\n");
  assert.equal(csvLine(['＝1', '＋1', '－1', '＠a', '\n=1']), `'＝1,'＋1,'－1,'＠a,"'\n=1"\r\n`);
  assert.equal(csvLine(['-1', '-1.25', '-1+1', '-1\n']), `-1,-1.25,'-1+1,"'-1\n"\r\n`);
  assert.equal(csvLine(['=HYPERLINK("x","y")']), '"\'=HYPERLINK(""x"",""y"")"\r\n');
});

test('a time without a zone is UTC, also where the machine’s zone is another', () => {
  const zone = process.env.TZ;
  try {
    for (const place of ['Asia/Tokyo', 'America/Los_Angeles', 'UTC']) {
      process.env.TZ = place;
      const moments = ['2030-01-31', '2030-01-31T00:00', '2030-01-31T00:00:00Z'];
      for (const text of [...moments, '2030-01-31T09:00:00.000+09:00']) {
        assert.equal(readIsoTime(text)?.toISOString(), '2030-01-31T00:00:00.000Z', text);
      }
    }
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test('a text that is no ISO 8601 time, or a day that does not exist, is refused', () => {
  const wrong = ['', 'tomorrow', '5', '2030-13-01', '2030-02-31', '2030-01-31T25:00', '2030-1-1'];
  for (const text of [...wrong, '2030-01-31 00:00', '2030-01-31T00:00+9', '2030-02-30T10:00Z']) {
    assert.equal(readIsoTime(text), undefined, text);
  }
});

test('times that Postgres wrote as JSON get the form of all others, and nothing else changes', () => {
  const row = { at: '2030-01-31T02:00:00.4+02:00', until: null, size: 3, day: '2030-01-31' };
  const inside = { request: { prompt: '2030-01-31T00:00:00+00:00' } };
  assert.deepEqual(withIsoTimes({ ...row, ...inside }), {
    ...row,
    ...inside,
    at: '2030-01-31T00:00:00.400Z',
  });
});
