import { findAccount } from '../../accounts/accounts.ts';
import { UsageError } from '../../kernel/errors.ts';
import { cancelTask } from '../../operator/cancel.ts';
import { listTasks, showTask } from '../../operator/task-listing.ts';
import { wakeByOperator } from '../../operator/wake.ts';
import { TRANSITIONS } from '../../tasks/transitions.ts';
import type { Command } from '../command.ts';

export const TASK_COMMANDS: readonly Command[] = [
  {
    usage: 'tasks list [--phase P] [--account A]',
    summary: 'List tasks, the newest first; with --phase held those held first',
    options: ['phase', 'account'],
    cursorOf: (row: { id: string }) => row.id,
    run: async (db, { options: { phase, account }, page }) => {
      const accountId = account === undefined ? undefined : await findAccount(db, account);
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
];

function readPhase(text: string | undefined): string | undefined {
  const phases = Object.keys(TRANSITIONS);
  if (text === undefined || phases.includes(text)) return text;
  throw new UsageError(`--phase must be one of ${phases.join(', ')}`);
}
