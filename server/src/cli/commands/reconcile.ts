import type { Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { recordAction } from '../../operator/actions.ts';
import { type OperatorDecision, reconcile } from '../../operator/reconcile.ts';
import { type HeldFilter, reconcileHeld, selectHeld } from '../../operator/reconcile-held.ts';
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

export const RECONCILE_HELD_COMMAND: Command = {
  usage:
    'tasks reconcile (--not-accepted | --failed) [--provider P] [--account A] [--held-hours H] ' +
    '[--cause C] [--confirm NAME] --reason TEXT',
  summary: 'List the held tasks of a filter; with --confirm, decide exactly those of the list',
  options: ['provider', 'account', 'held-hours', 'cause', 'confirm'],
  flags: ['not-accepted', 'failed'],
  reason: 'required',
  async run(db, { options, action, show }) {
    const { kind } = readDecision({ ...options, accepted: undefined });
    if (kind === 'accepted') throw new UsageError('a job belongs to one task: use reconcile ID');
    const filter = readFilter(options);
    if (options.confirm !== undefined) {
      return reconcileHeld(db, action, { filter, kind, confirm: options.confirm.trim() });
    }
    const selection = await selectHeld(db, filter);
    if (!show) return selection;
    show(`To decide exactly these: --confirm ${selection.confirm}`);
    return selection.tasks;
  },
};

function readFilter(options: Arguments['options']): HeldFilter {
  const { provider, account, cause, 'held-hours': hours } = options;
  if (cause !== undefined && cause !== 'acceptance' && cause !== 'outcome') {
    throw new UsageError('--cause must be acceptance or outcome');
  }
  if (hours !== undefined && !/^\d{1,6}$/.test(hours)) {
    throw new UsageError('--held-hours must be a whole number');
  }
  return { provider, account, cause, hours: Number(hours ?? 0) };
}

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
