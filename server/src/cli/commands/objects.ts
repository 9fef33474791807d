import { findAccount } from '../../accounts/accounts.ts';
import { takeDown } from '../../operator/takedown.ts';
import { listUploadMailboxes, listUploads } from '../../operator/uploads/listed-uploads.ts';
import { removeUpload, removeUploadsOfMailbox } from '../../operator/uploads/remove-uploads.ts';
import type { Command } from '../command.ts';

/** How the ids of objects begin; no address and no id of an account does. */
const OBJECT = 'obj_';

export const OBJECT_COMMANDS: readonly Command[] = [
  {
    usage: 'objects takedown ID --reason TEXT',
    summary: 'Stop serving a file now and delete it. ID: an object, or a task for its video',
    options: [],
    reason: 'required',
    run: (db, { words: [id = ''], action }) => takeDown(db, action, id),
  },
  {
    usage: 'uploads list [--account ACCOUNT]',
    summary: 'List the stored uploads of the website, the newest first',
    options: ['account'],
    cursorOf: (row: { upload_id: string }) => row.upload_id,
    run: async (db, { options: { account }, page: { limit, after } }) => {
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      return listUploads(db, { accountId, after, limit });
    },
  },
  {
    usage: 'uploads mailboxes',
    summary: 'List the 20 mailboxes whose uploads take the most space, each with one account',
    options: [],
    run: (db) => listUploadMailboxes(db),
  },
  {
    usage: 'uploads remove ID --reason TEXT',
    summary: 'Remove an upload. ID: the upload, or an account for all uploads of its mailbox',
    options: [],
    reason: 'required',
    run: async (db, { words: [id = ''], action }) =>
      id.startsWith(OBJECT)
        ? removeUpload(db, action, id)
        : removeUploadsOfMailbox(db, action, await findAccount(db, id)),
  },
];
