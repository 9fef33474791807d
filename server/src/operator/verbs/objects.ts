import { findAccount } from '../../accounts/accounts.ts';
import { listUploadMailboxes, listUploads } from '../listings/uploads.ts';
import { removeUpload, removeUploadsOfMailbox } from '../remove-uploads.ts';
import { takeDown } from '../takedown.ts';
import { optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';
import { ACCOUNT } from './subjects.ts';

/** How the ids of objects begin; no address and no id of an account does. */
const OBJECT = 'obj_';

export const OBJECTS = {
  'objects takedown': verb({
    summary: 'Stop serving a file now and delete it. ID: an object, or a task for its video',
    fields: { id: text('An object, or a task for its video.', { word: 'ID' }) },
    words: ['id'],
    reason: 'required',
    dialog: {
      title: 'Take the video down',
      effect: 'It is not served from now on, and its file is deleted. This can’t be undone.',
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
    words: ['id'],
    reason: 'required',
    dialog: { title: 'Remove uploads', isDangerous: true },
    run: async ({ db }, { id }, action) =>
      id.startsWith(OBJECT)
        ? removeUpload(db, action, id)
        : removeUploadsOfMailbox(db, action, await findAccount(db, id)),
  }),
};
