import { decideReview } from '../../moderation/review.ts';
import type { Action } from '../actions.ts';
import { performAction } from '../actions.ts';
import { listReviews } from '../listings/reviews.ts';
import { TASK } from '../verb/fields.ts';
import { type VerbDeps, verb } from '../verb/verb.ts';

const OF_TASK = { fields: { id: TASK }, positional: ['id'], reason: 'required' } as const;

const decideAs =
  (verdict: 'allow' | 'deny') =>
  ({ db }: VerbDeps, { id }: { id: string }, action: Action) =>
    performAction(db, action, { target: id }, (tx) =>
      decideReview(tx, id, { verdict, reason: action.reason ?? '' }),
    );

export const REVIEWS = {
  'reviews list': verb({
    summary: 'List tasks that wait for a decision before their submit, the longest waiting first',
    fields: {},
    cursorOf: (row: { id: string }) => row.id,
    async run({ db, page }) {
      const reviews = await listReviews(db, page.after ?? null, page.limit);
      return reviews.map(({ inputs, now_seconds: _, ...review }) => ({
        ...review,
        files: inputs.length,
      }));
    },
  }),
  'reviews allow': verb({
    summary: 'Submit a task that is in review',
    ...OF_TASK,
    dialog: { title: 'Allow the request' },
    run: decideAs('allow'),
  }),
  'reviews deny': verb({
    summary: 'Fail and refund a task that is in review',
    ...OF_TASK,
    dialog: {
      title: 'Deny the request',
      effect:
        'The task fails and is refunded. Its customer reads that it breaks the rules of this ' +
        'service, but not your reason.',
      isDangerous: true,
    },
    run: decideAs('deny'),
  }),
};
