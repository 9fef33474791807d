import { findAccount } from '../../accounts/accounts.ts';
import type { Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { recordAction } from '../../operator/actions.ts';
import { type OperatorDecision, reconcile } from '../../operator/reconcile.ts';
import { findHeld, type HeldFilter, reconcileHeld } from '../../operator/reconcile-held.ts';
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
    '[--confirm COUNT] --reason TEXT',
  summary: 'List the held tasks of a filter; with --confirm and their number, decide all of them',
  options: ['provider', 'account', 'held-hours', 'confirm'],
  flags: ['not-accepted', 'failed'],
  reason: 'required',
  async run(db, { options, action }) {
    const { kind } = readDecision({ ...options, accepted: undefined });
    if (kind === 'accepted') throw new UsageError('a job belongs to one task: use reconcile ID');
    const { provider = null, account, confirm } = options;
    const accountId = account === undefined ? null : await findAccount(db, account);
    const hours = readNumber(options, 'held-hours') ?? 0;
    const filter: HeldFilter = { provider, accountId, hours };
    const expected = readNumber(options, 'confirm');
    if (confirm === undefined || expected === undefined) return findHeld(db, filter);
    return reconcileHeld(db, action, { filter, kind, expected });
  },
};

function readNumber(options: Arguments['options'], name: string): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number`);
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
