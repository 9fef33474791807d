import { shareIdIn } from '../../shares/shares.ts';
import { type FoundRow, findExactly } from '../listings/find.ts';
import { text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const FIND = {
  find: verb({
    summary:
      'Tell what an id, an e-mail address or an Idempotency-Key is, whose, and where the console has it',
    fields: {
      text: text(
        'An id of a task, order, account, API key, attempt, file, share, webhook endpoint or event, ' +
          'of the request that made a task, or of Stripe; an e-mail address; an Idempotency-Key; ' +
          'the link of a share.',
        { word: 'TEXT' },
      ),
    },
    positional: ['text'],
    async run({ db }, { text: asked }) {
      const rows = await findExactly(db, shareIdIn(asked) ?? asked);
      return { found: rows.map((row) => ({ ...row, page: pageOf(row) })) };
    },
  }),
};

/** The console's page about a result; null for the file of an erased owner. */
function pageOf({ what, id, account_id: accountId, task_id: taskId }: FoundRow): string | null {
  if (what === 'order') return `/operator/orders/${id}`;
  if (what === 'report') return `/operator/reports/${id}`;
  if (taskId !== null) return `/operator/tasks/${taskId}`;
  return accountId && `/operator/accounts/${accountId}`;
}
