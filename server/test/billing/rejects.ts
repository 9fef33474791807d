import assert from 'node:assert/strict';
import { ApiError } from '../../src/kernel/errors.ts';

/** Asserts that the work fails with an error of this code. */
export async function assertRejectsWith(work: Promise<unknown>, code: string): Promise<void> {
  await assert.rejects(work, (error) => error instanceof ApiError && error.code === code);
}
