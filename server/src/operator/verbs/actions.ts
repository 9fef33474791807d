import { Refusal } from '../../kernel/errors.ts';
import { listActions } from '../actions.ts';
import { optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const ACTIONS = {
  'actions list': verb({
    summary: 'List what commands changed, newest first: when, who, which command, why',
    fields: {
      target: optional(text('Only what was done to this id or name.', { word: 'ID' })),
    },
    cursorOf: (row: { id: number }) => String(row.id),
    run: ({ db, page: { limit, after } }, { target }) =>
      listActions(db, { target, after: readActionId(after), limit }),
  }),
};

function readActionId(after: string | undefined): number | undefined {
  if (after === undefined) return undefined;
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw new Refusal('after', after, 'must be the id of an action, as the list shows it');
}
