import assert from 'node:assert/strict';
import { sql } from '../task-fixtures.ts';
import type { TestVisitor, TestWebsite } from './website.ts';

/** The rows of a visitor's uploads. */
export function uploadRows({ database }: TestWebsite, { accountId }: TestVisitor) {
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
