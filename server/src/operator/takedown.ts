import { takeDownOutput } from '../attempts/delete-output.ts';
import type { Database, Transaction } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { type LockedObject, lockObject, takeDownObject } from '../storage/removal.ts';
import { LIVE_PHASES, type Phase } from '../tasks/task.ts';
import { outputOf, phaseOf } from '../tasks/task-listing.ts';
import { type Action, performAction } from './actions.ts';

/**
 * Removes a stored file before the end of its retention. From the commit on it is not served, and a
 * worker deletes its bytes within seconds.
 * @param id of an object, or of a task, whose output it then is
 * @returns changed: false when it was taken down before
 * @throws UsageError when there is no such file, or a live task still needs it
 */
export function takeDown(db: Database, action: Action, id: string) {
  return performAction(db, action, { target: id }, async (tx) => {
    const objectId = (await outputOf(tx, id)) ?? id;
    const object = await lockObject(tx, objectId);
    if (!object) {
      throw new UsageError(`there is no object ${JSON.stringify(id)}, and no task with an output`);
    }
    const changed = object.taken_down_at === null;
    if (changed) await takeDownStored(tx, object);
    return { object_id: objectId, task_id: object.owner_id, taken_down: true, changed };
  });
}

const isLive = (phase: Phase) => LIVE_PHASES.some((live) => live === phase);

async function takeDownStored(tx: Transaction, object: LockedObject) {
  const { id, role, owner_id: taskId } = object;
  const phase = await phaseOf(tx, taskId);
  if (phase !== undefined && isLive(phase)) {
    throw new UsageError(
      `${taskId} is ${phase} and needs its ${role} ${id}: cancel the task first, ` +
        'or wait until it has ended',
    );
  }
  return role === 'output' ? takeDownOutput(tx, object) : takeDownObject(tx, id);
}
