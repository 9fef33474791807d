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
import { listEvidence } from '../listings/reports.ts';
import { listUploadMailboxes, listUploads } from '../listings/uploads.ts';
import { ACCOUNT, choiceOf, type InputOf, optional, text, whole } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

/** On what a removal is based: `reports export` counts the orders of courts and authorities. */
const BASES = ['report', 'own_finding', 'order'] as const;

export const REMOVAL = {
  basis: optional(choiceOf('What it is based on; an order is of a court or an authority.', BASES)),
  evidence_days: optional(
    whole('Keep the file for so many days as evidence, which is not served.', { min: 1, max: 365 }),
  ),
};

/** What is recorded of a removal. */
export const removalDetails = (given: InputOf<typeof REMOVAL>, basis: (typeof BASES)[number]) => ({
  basis: given.basis ?? basis,
  ...(given.evidence_days !== undefined && { evidence_days: given.evidence_days }),
});

/** The prefix of object ids; no e-mail address or account id starts with it. */
const OBJECT = 'obj_';

export const OBJECTS = {
  'objects take-down': verb({
    summary: 'Stop serving a file now and delete it. ID: an object, or a task for its video',
    fields: { id: text('An object, or a task for its video.', { word: 'ID' }), ...REMOVAL },
    positional: ['id'],
    reason: 'required',
    dialog: {
      title: 'Take the video down',
      effect:
        'It is not served from now on, its file is deleted (evidence later), and a video with the ' +
        'same bytes is not stored again. This can’t be undone.',
      isDangerous: true,
    },
    run: ({ db }, { id, ...removal }, action) => takeDown(db, action, id, removal),
  }),
  'objects evidence': verb({
    summary: 'List the files that were taken down and are kept as evidence',
    fields: {},
    cursorOf: (row: { object_id: string }) => row.object_id,
    run: ({ db, page }) => listEvidence(db, page.after ?? null, page.limit),
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
 * worker deletes it within seconds, and, if it is a video, no later output may have its bytes.
 * @param id of an object, or of a task, whose output is then removed
 * @throws UsageError when there is no such file, or a live task still needs it
 */
export function takeDown(
  db: Database,
  action: Action,
  id: string,
  removal: InputOf<typeof REMOVAL> = { basis: undefined, evidence_days: undefined },
) {
  const details = removalDetails(removal, 'own_finding');
  return performAction(db, action, { target: id, details }, (tx) =>
    takeDownFile(tx, id, removal.evidence_days),
  );
}

export async function takeDownFile(tx: Transaction, id: string, evidenceDays?: number) {
  const objectId = (await outputOf(tx, id)) ?? id;
  const object = await lockObject(tx, objectId);
  if (!object) {
    throw new UsageError(`there is no object ${JSON.stringify(id)}, and no task with an output`);
  }
  const isServed = object.taken_down_at === null;
  const until = isServed ? await takeDownStored(tx, object, evidenceDays) : object.evidence_until;
  const changed = (await blockBytes(tx, objectId)) || isServed;
  const done = { object_id: objectId, task_id: object.owner_id, taken_down: true };
  return { ...done, evidence_until: until, changed };
}

const isLive = (phase: Phase) => LIVE_PHASES.some((live) => live === phase);

async function takeDownStored(
  tx: Transaction,
  object: LockedObject,
  evidenceDays: number | undefined,
) {
  const removal = { by: 'operator', evidenceDays } as const;
  const { id, role, owner_id: taskId } = object;
  const phase = await phaseOf(tx, taskId);
  if (phase !== undefined && isLive(phase)) {
    throw new UsageError(
      `${taskId} is ${phase} and needs its ${role} ${id}: cancel the task first, ` +
        'or wait until it has ended',
    );
  }
  return role === 'output' ? takeDownOutput(tx, object, removal) : takeDownObject(tx, id, removal);
}
