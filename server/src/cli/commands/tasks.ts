import { findAccount } from '../../accounts/accounts.ts';
import { UsageError } from '../../kernel/errors.ts';
import { archiveTasks } from '../../operator/archive.ts';
import { cancelTask } from '../../operator/cancel.ts';
import { listArchived, listDue, listTasks, showTask } from '../../operator/task-listing.ts';
import { wakeByOperator } from '../../operator/wake.ts';
import { TRANSITIONS } from '../../tasks/transitions.ts';
import type { Command } from '../command.ts';

export const TASK_COMMANDS: readonly Command[] = [
  {
    usage: 'tasks list [--phase P] [--account A] [--archived] [--due]',
    summary:
      'List tasks, the newest first; --phase held: those held first; --due: waiting for a worker',
    options: ['phase', 'account'],
    flags: ['archived', 'due'],
    cursorOf: (row: { id: string }) => row.id,
    run: async (db, { options: { phase, account, archived, due }, page }) => {
      if (due !== undefined) {
        if (phase ?? account ?? archived ?? page.after) throw new UsageError('--due stands alone');
        return listDue(db, page.limit);
      }
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      if (archived !== undefined) {
        if (accountId === undefined) throw new UsageError('--archived needs --account');
        return listArchived(db, accountId, { phase: readPhase(phase), ...page });
      }
      return listTasks(db, { phase: readPhase(phase), accountId, ...page });
    },
  },
  {
    usage: 'tasks show ID',
    summary: 'Show all records of a task: attempts, evidence, history, objects',
    options: [],
    run: (db, { words: [id = ''] }) => showTask(db, id),
  },
  {
    usage: 'tasks cancel ID --reason TEXT',
    summary: 'Refund a task that was not submitted; ask the provider to cancel an accepted one',
    options: [],
    reason: 'required',
    run: (db, { words: [id = ''], action }) => cancelTask(db, action, id),
  },
  {
    usage: 'tasks wake ID',
    summary: 'Begin the next step of a task now: poll its job, or ask the provider for it',
    options: [],
    reason: 'optional',
    run: (db, { words: [id = ''], action }) => wakeByOperator(db, action, id),
  },
  {
    usage: 'tasks archive --older-than DAYS --reason TEXT',
    summary: 'Move tasks that ended so long ago, and whose files are deleted, to the archive',
    options: ['older-than'],
    reason: 'required',
    run: (db, { options, action, show }) =>
      archiveTasks(db, action, { days: readDays(options['older-than']), show }),
  },
];

function readPhase(text: string | undefined): string | undefined {
  const phases = Object.keys(TRANSITIONS);
  if (text === undefined || phases.includes(text)) return text;
  throw new UsageError(`--phase must be one of ${phases.join(', ')}`);
}

/** A provider may still report on a job, or list it, for some days after its end. */
const MIN_ARCHIVE_DAYS = 7;

function readDays(text = ''): number {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (days >= MIN_ARCHIVE_DAYS) return days;
  throw new UsageError(`--older-than must be a whole number of days, at least ${MIN_ARCHIVE_DAYS}`);
}
