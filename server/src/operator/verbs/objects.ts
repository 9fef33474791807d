import { findAccount } from '../../accounts/accounts.ts';
import { takeDownOutput } from '../../attempts/erase.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import {
  blockBytes,
  type LockedObject,
  lockObject,
  removeStoredUploads,
  takeDownObject,
} from '../../storage/removal.ts';
import { LIVE_PHASES, type Phase } from '../../tasks/task.ts';
import { outputOf, phaseOf } from '../../tasks/task-listing.ts';
import { isUpload, uploadsOfMailbox } from '../../uploads/uploads.ts';
import { type Action, performAction } from '../actions.ts';
import { listUploadMailboxes, listUploads } from '../listings/uploads.ts';
import { ACCOUNT, optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

/** The prefix of object ids; no e-mail address or account id starts with it. */
const OBJECT = 'obj_';

export const OBJECTS = {
  'objects takedown': verb({
    summary: 'Stop serving a file now and delete it. ID: an object, or a task for its video',
    fields: { id: text('An object, or a task for its video.', { word: 'ID' }) },
    positional: ['id'],
    reason: 'required',
    dialog: {
      title: 'Take the video down',
      effect:
        'It is not served from now on, its file is deleted, and a video with the same bytes is ' +
        'not stored again. This can’t be undone.',
      isDangerous: true,
    },
    run: ({ db }, { id }, action) => takeDown(db, action, id),
  }),
};

export const UPLOADS = {
  'uploads list': verb({
    summary: 'List the stored uploads, the newest first',
    fields: { account: optional(ACCOUNT) },
    cursorOf: (row: { upload_id: string }) => row.upload_id,
    run: async ({ db, page }, { account }) => {
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      return listUploads(db, { accountId, ...page });
    },
  }),
  'uploads mailboxes': verb({
    summary: 'List the 20 mailboxes whose uploads take the most space, each with one account',
    fields: {},
    run: ({ db }) => listUploadMailboxes(db),
  }),
  'uploads remove': verb({
    summary: 'Remove an upload. ID: the upload, or an account for all uploads of its mailbox',
    fields: { id: text('An upload, or an account for all of its mailbox.', { word: 'ID' }) },
    positional: ['id'],
    reason: 'required',
    dialog: { title: 'Remove uploads', isDangerous: true },
    run: async ({ db }, { id }, action) => {
      if (id.startsWith(OBJECT)) return removeUpload(db, action, id);
      const accountId = await findAccount(db, id);
      return performAction(db, action, { target: accountId }, async (tx) => {
        const ids = await uploadsOfMailbox(tx, accountId);
        return { account_id: accountId, ...(await remove(tx, ids)) };
      });
    },
  }),
};

export function removeUpload(db: Database, action: Action, id: string) {
  return performAction(db, action, { target: id }, async (tx) => {
    if (!(await isUpload(tx, id))) throw new UsageError(`there is no upload ${JSON.stringify(id)}`);
    return { upload_id: id, ...(await remove(tx, [id])) };
  });
}

// A task that has not copied its upload yet fails, and is refunded.
async function remove(tx: Transaction, ids: string[]) {
  const { uploads, bytes } = await removeStoredUploads(tx, ids);
  return { removed_uploads: uploads, removed_bytes: bytes, changed: uploads > 0 };
}

/**
 * Removes a stored file before the end of its retention. From the commit on it is not served, a
 * worker deletes its bytes within seconds, and no later output may have the bytes of a video.
 * @param id of an object, or of a task, whose output is then removed
 * @throws UsageError when there is no such file, or a live task still needs it
 */
export function takeDown(db: Database, action: Action, id: string) {
  return performAction(db, action, { target: id }, (tx) => takeDownFile(tx, id));
}

export async function takeDownFile(tx: Transaction, id: string) {
  const objectId = (await outputOf(tx, id)) ?? id;
  const object = await lockObject(tx, objectId);
  if (!object) {
    throw new UsageError(`there is no object ${JSON.stringify(id)}, and no task with an output`);
  }
  const isServed = object.taken_down_at === null;
  if (isServed) await takeDownStored(tx, object);
  const changed = (await blockBytes(tx, objectId)) || isServed;
  return { object_id: objectId, task_id: object.owner_id, taken_down: true, changed };
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
  return role === 'output'
    ? takeDownOutput(tx, object, 'operator')
    : takeDownObject(tx, id, 'operator');
}
