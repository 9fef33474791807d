import type { Transaction } from '../../database/database.ts';
import { Refusal } from '../../kernel/errors.ts';
import { isJobId } from '../../providers/kit/job-id.ts';
import { recordAction } from '../actions.ts';
import { type OperatorDecision, reconcile } from '../reconcile.ts';
import { flag, optional, TASK, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const RECONCILE = {
  reconcile: verb({
    summary:
      'Decide a held task: its job is JOB_ID, or there is no job. --failed ends any live task',
    fields: {
      id: TASK,
      accepted: optional(text('The id of its job at the provider.', { word: 'JOB_ID' })),
      not_accepted: flag('There is certainly no job: the task fails, with a refund.'),
      failed: flag('End it with a refund; a job that turns up later becomes an orphan job.'),
    },
    positional: ['id'],
    oneOf: { fields: ['accepted', 'not_accepted', 'failed'], isRequired: true },
    reason: 'required',
    dialog: {
      title: 'Decide the task',
      effect:
        'Look at the provider’s own console first. After a wrong decision a customer pays ' +
        'for no video, or you pay for a video that nobody gets.',
    },
    run: ({ db }, { id, ...given }, action) => {
      const decision = decisionOf(given);
      const record = (tx: Transaction) =>
        recordAction(tx, action, { target: id, details: decision });
      return reconcile(db, id, decision, action.reason ?? '', record);
    },
  }),
};

function decisionOf(given: { accepted: string | undefined; failed: boolean }): OperatorDecision {
  const { accepted: jobId } = given;
  if (jobId === undefined) return { kind: given.failed ? 'failed' : 'not_accepted' };
  if (isJobId(jobId)) return { kind: 'accepted', jobId };
  throw new Refusal('accepted', jobId, 'must be the id of the provider’s job');
}
