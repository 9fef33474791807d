import assert from 'node:assert/strict';
import { request } from 'node:http';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { createMeasurer } from '../../src/media/measure.ts';
import type { GuardedFetch } from '../../src/outbound/guarded-fetch.ts';
import type { Task } from '../../src/tasks/task.ts';
import { type IngestDeps, ingest, startTask } from '../../src/worker/ingest.ts';
import { claimTask, sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { TestVisitor, TestWebsite } from './website.ts';

/** An upload whose headers and first bytes are sent, and no more. */
export function beginUpload(url: string, headers: Record<string, string>) {
  const sent = request(url, {
    method: 'POST',
    headers: { 'content-type': 'image/png', 'content-length': '1000', ...headers },
  });
  sent.on('error', () => {});
  sent.write('begin');
  return sent;
}

/** The rows of a visitor's uploads. */
export function uploadRows(
  { database }: TestWebsite,
  { accountId }: Pick<TestVisitor, 'accountId'>,
) {
  return sql<{ id: string; state: string }>(
    database.db,
    `select id, state from stored_objects where owner_id = $1 and role = 'upload' order by id`,
    [accountId],
  );
}

/** Asserts what the response to an upload says of a PNG of 96 × 54 pixels, beside its address. */
export function assertPicture(facts: object, picture: Buffer): void {
  assert.deepEqual(facts, {
    kind: 'image',
    media_type: 'image/png',
    size_bytes: picture.length,
    width: 96,
    height: 54,
    duration_seconds: null,
  });
}

type Stored = Pick<IngestDeps, 'db' | 'log' | 'storage'>;

/** Runs the ingest step of a task as the worker does. */
export async function ingestTask(
  { db, log, storage }: Stored,
  taskId: string,
  guardedFetch: GuardedFetch,
): Promise<Task> {
  await using folder = await temporaryFolder();
  const scratch = openScratchDirectory(folder.path);
  const deps = { db, log, storage, scratch, guardedFetch, measurer: createMeasurer({ scratch }) };
  const started = await startTask(deps, await claimTask(db, taskId));
  assert.ok(started !== 'postponed');
  const task = await ingest(deps, started);
  assert.ok(task !== 'postponed');
  return task;
}
