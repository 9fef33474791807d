import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from './csv.ts';

test('fields with separators are quoted, and a missing value is empty', () => {
  const at = new Date(0);
  assert.equal(
    csvLine(['a,b', 'say "no"', null, undefined, -3, at]),
    '"a,b","say ""no""",,,-3,1970-01-01T00:00:00.000Z\r\n',
  );
});

test('a spreadsheet runs no text as a formula', () => {
  assert.equal(csvLine(['=1+1', '+1', '-1', '@a', 'a=1']), "'=1+1,'+1,'-1,'@a,a=1\r\n");
  assert.equal(csvLine(['＝1', '＋1', '－1', '＠a', '\n=1']), `'＝1,'＋1,'－1,'＠a,"'\n=1"\r\n`);
  assert.equal(csvLine(['=HYPERLINK("x","y")']), '"\'=HYPERLINK(""x"",""y"")"\r\n');
});
