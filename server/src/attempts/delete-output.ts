import type { Database, Transaction } from '../database/database.ts';
import { type LockedObject, lockObject, takeDownObject } from '../storage/removal.ts';
import { attemptsOf } from './attempts.ts';

/**
 * Takes down the output and poster of an ended task. From the commit on they are not served, and a
 * worker deletes the bytes within seconds. Idempotent.
 */
export async function deleteOutput(db: Database, objectId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const object = await lockObject(tx, objectId);
    if (object) await takeDownOutput(tx, object);
  });
}

/** Takes down a locked output, with its poster and the renders of its jobs. */
export async function takeDownOutput(
  tx: Transaction,
  { id, owner_id: taskId }: LockedObject,
): Promise<void> {
  const { jobIds } = await attemptsOf(tx, [taskId]);
  await takeDownObject(tx, id, { taskId, jobIds });
}
