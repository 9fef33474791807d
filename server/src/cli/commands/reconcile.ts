import type { Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { recordAction } from '../../operator/actions.ts';
import { type OperatorDecision, reconcile } from '../../operator/reconcile.ts';
import { isJobId } from '../../providers/kit/job-id.ts';
import { type Arguments, type Command, requiredOption } from '../command.ts';

export const RECONCILE_COMMAND: Command = {
  usage: 'reconcile ID (--accepted JOB_ID | --not-accepted | --failed) --reason TEXT',
  summary: 'Decide a held task: its job is JOB_ID, or there is no job. --failed ends any live task',
  options: ['accepted'],
  flags: ['not-accepted', 'failed'],
  reason: 'required',
  run: (db, { words: [id = ''], options, action }) => {
    const decision = readDecision(options);
    const reason = requiredOption(options, 'reason');
    const record = (tx: Transaction) => recordAction(tx, action, { target: id, details: decision });
    return reconcile(db, id, decision, reason, record);
  },
};

function readDecision(options: Arguments['options']): OperatorDecision {
  const given = ['accepted', 'not-accepted', 'failed'].filter(
    (name) => options[name] !== undefined,
  );
  const [kind, ...others] = given;
  if (kind === undefined || others.length > 0) {
    const decisions = '--accepted JOB_ID, --not-accepted, --failed';
    throw new UsageError(`reconcile needs one of ${decisions}, and only one`);
  }
  if (kind === 'accepted') {
    const jobId = options.accepted?.trim();
    if (!isJobId(jobId)) throw new UsageError('--accepted needs the id of the provider’s job');
    return { kind, jobId };
  }
  return { kind: kind === 'failed' ? 'failed' : 'not_accepted' };
}
