import { findAccount, withEmails } from '../../accounts/accounts.ts';
import { UsageError } from '../../kernel/errors.ts';
import { endShare, listAllShares, shareIdIn, taskOfShare } from '../../shares/shares.ts';
import { performAction } from '../actions.ts';
import { ACCOUNT, optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const SHARES = {
  'shares list': verb({
    summary: 'List shares of videos, the newest first',
    fields: { account: optional({ ...ACCOUNT, word: 'A' }) },
    cursorOf: (row: { id: string }) => row.id,
    run: async ({ db, page }, { account }) => {
      const accountId = account === undefined ? null : await findAccount(db, account);
      return listAllShares(db, accountId, null, page.after ?? null, page.limit);
    },
    runOnConsole: async (run, { db }) => withEmails(db, await run()),
  }),
  'shares end': verb({
    summary: 'End a share of a video. ID: the share, or its link',
    fields: { id: text('The share, or its link.', { word: 'ID', max: 2000 }) },
    positional: ['id'],
    reason: 'required',
    dialog: {
      title: 'End the share',
      effect:
        'Its link stops working. The video stays, and its owner can share it again: to prevent ' +
        'that, take the video down.',
    },
    run: ({ db }, { id: given }, action) => {
      const id = shareIdIn(given) ?? given;
      return performAction(db, action, { target: id }, async (tx) => {
        const taskId = await taskOfShare(tx, id);
        if (taskId === undefined) throw new UsageError(`there is no share ${JSON.stringify(id)}`);
        return { share_id: id, task_id: taskId, changed: await endShare(tx, id, null) };
      });
    },
  }),
};
