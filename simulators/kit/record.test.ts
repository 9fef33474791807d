import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Value } from 'typebox/value';
import { type BaseJob, BaseJobSchema, openRecord } from './record.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'record-'));
after(() => rmSync(folder, { recursive: true }));
const parse = (value: unknown) => Value.Parse(BaseJobSchema, value);

function job(id: string, prompt: string): BaseJob {
  const given = { id, prompt, callbackUrl: null, origin: 'http://127.0.0.1:1' };
  return { ...given, createdAt: 1, forcedStatus: null, quirks: [], reported: null };
}

test('a reopened record has the last version of every job', () => {
  const file = path.join(folder, 'jobs.jsonl');
  const record = openRecord(file, parse);
  record.put(job('a', 'first'));
  record.put(job('b', 'second'));
  record.put(job('a', 'changed'));
  const again = openRecord(file, parse);
  assert.deepEqual(again.all(), [job('a', 'changed'), job('b', 'second')]);
});

test('a line that a kill truncated is dropped, and the next one is whole', () => {
  const file = path.join(folder, 'cut.jsonl');
  openRecord(file, parse).put(job('a', 'whole'));
  appendFileSync(file, '{"id":"b","pro');
  openRecord(file, parse).put(job('c', 'later'));
  const ids = openRecord(file, parse)
    .all()
    .map(({ id }) => id);
  assert.deepEqual(ids, ['a', 'c']);
});
