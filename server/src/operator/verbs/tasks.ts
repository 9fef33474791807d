import { findAccount, withEmail, withEmails } from '../../accounts/accounts.ts';
import {
  awaitProviderReply,
  beginCancel,
  type CancelBegun,
  type CancelObstacle,
  NotCancellable,
} from '../../attempts/cancel.ts';
import type { Database } from '../../database/database.ts';
import { Refusal, UsageError } from '../../kernel/errors.ts';
import type { Phase } from '../../tasks/task.ts';
import { listDue, listTasks, lockState } from '../../tasks/task-listing.ts';
import { TRANSITIONS, wakeTask } from '../../tasks/transitions.ts';
import { type Action, performAction } from '../actions.ts';
import { showTask } from '../listings/task-records.ts';
import { reconcileHeld, selectHeld } from '../reconcile-held.ts';
import { ACCOUNT, choiceOf, flag, optional, TASK, text, whole } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const PHASES = Object.keys(TRANSITIONS) as Phase[];

const OF_TASK = { fields: { id: TASK }, positional: ['id'] } as const;

export const TASKS = {
  'tasks list': verb({
    summary:
      'List tasks, the newest first; --phase held: the longest held first; --due: waiting for ' +
      'a worker',
    fields: {
      phase: optional(choiceOf('Only tasks in this phase.', PHASES, { word: 'P' })),
      account: optional({ ...ACCOUNT, word: 'A' }),
      due: flag('Only tasks whose next step is due. Not with other filters.'),
    },
    // The list of due tasks has only one page.
    cursorOf: (row: { id: string; due_at?: Date }) => (row.due_at ? undefined : row.id),
    run: async ({ db, page }, { phase, account, due }) => {
      if (due) {
        if (phase ?? account ?? page.after) {
          throw new Refusal('due', due, 'can not be combined with other filters or a cursor');
        }
        return listDue(db, page.limit);
      }
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      return listTasks(db, { phase, accountId, ...page });
    },
    runOnConsole: async (run, { db }) => withEmails(db, await run()),
  }),
  'tasks show': verb({
    summary: 'Show all records of a task: attempts, evidence, history, objects',
    ...OF_TASK,
    run: ({ db }, { id }) => showTask(db, id),
    runOnConsole: async (run, { db }) => withEmail(db, await run()),
  }),
  'tasks cancel': verb({
    summary: 'Refund a task that was not submitted; ask the provider to cancel an accepted one',
    ...OF_TASK,
    reason: 'required',
    dialog: {
      title: 'Cancel the task',
      effect:
        'A task that was not submitted fails and is refunded. For an accepted one, the provider ' +
        'is asked to cancel the job, and the task ends as the provider says.',
      isDangerous: true,
    },
    run: ({ db, waitSeconds }, { id }, action) => cancelTask(db, action, id, waitSeconds),
    consoleWaitSeconds: 3,
  }),
  'tasks wake': verb({
    summary: 'Begin the next step of a task now: poll its job, or ask the provider for it',
    ...OF_TASK,
    reason: 'optional',
    dialog: { title: 'Wake the task' },
    // The next step begins within a second, or right after the step under way.
    run: ({ db }, { id }, action) =>
      performAction(db, action, { target: id }, async (tx) => {
        const state = await lockState(tx, id);
        if (state.is_due_later === null)
          throw new UsageError(`${id} is ${state.phase}: it has no next step`);
        const changed = state.is_due_later || state.is_leased === true;
        if (changed) await wakeTask(tx, id); // otherwise it is due already
        return { task_id: id, phase: state.phase, changed };
      }),
  }),
  'tasks reconcile': verb({
    summary: 'List the held tasks of a filter; with --confirm, decide exactly those of the list',
    fields: {
      not_accepted: flag('There is certainly no job of any of them.'),
      failed: flag('End them with a refund.'),
      provider: optional(text('Only tasks of this provider.', { word: 'P', max: 100 })),
      account: optional({ ...ACCOUNT, word: 'A' }),
      held_hours: optional(
        whole('Held for at least this many hours.', { word: 'H', max: 999_999 }),
      ),
      cause: optional(choiceOf('What is not known.', ['acceptance', 'outcome'], { word: 'C' })),
      confirm: optional(text('The code that the list was printed with.', { word: 'CODE' })),
    },
    oneOf: { fields: ['not_accepted', 'failed'], isRequired: true },
    reason: 'required',
    dialog: {
      title: 'Decide the held tasks',
      effect:
        'Exactly the tasks of the list, each with its own record. If others are held by ' +
        'then, nothing is decided. This can’t be undone.',
      isDangerous: true,
    },
    async run({ db, show }, { failed, confirm, held_hours: hours, ...given }, action) {
      const filter = { ...given, hours };
      if (confirm !== undefined) {
        const kind = failed ? 'failed' : 'not_accepted';
        return reconcileHeld(db, action, { filter, kind, confirm });
      }
      const selection = await selectHeld(db, filter);
      if (!show) return selection;
      show(`To decide exactly these: --confirm ${selection.confirm}`);
      return selection.tasks;
    },
  }),
};

/** `accepted`: the provider cancels the job. */
type Cancelled = Omit<CancelBegun, 'cancel'> & { cancel: CancelBegun['cancel'] | 'accepted' };

const WAIT_SECONDS = 15;

/**
 * Cancels a task, or asks its provider to cancel its job, and records that.
 * @throws UsageError, with the reason, when it can't be cancelled or the provider refuses
 */
export async function cancelTask(
  db: Database,
  action: Action,
  taskId: string,
  waitSeconds = WAIT_SECONDS,
): Promise<Cancelled> {
  const cause = { cancelled_by: 'operator', operator: action.reason } as const;
  const options = { cause, alsoHeldOutcome: true };
  const begun = await performAction(db, action, { target: taskId }, (tx) =>
    beginCancel(tx, taskId, options),
  ).catch((error: unknown) => {
    throw error instanceof NotCancellable ? refusalOf(taskId, error) : error;
  });
  if (begun.cancel === 'done') return begun;
  const response = await awaitProviderReply(db, taskId, AbortSignal.timeout(waitSeconds * 1000));
  if (response?.state === 'refused') throw new UsageError(`${taskId} goes on: ${response.cause}`);
  return response ? { ...begun, cancel: 'accepted' } : begun;
}

const REFUSALS: Record<CancelObstacle, (phase: string) => string> = {
  held: (phase) => `is ${phase}: its provider may have a job for it. Use "reconcile" instead`,
  submitting: () => 'is being submitted at this moment: try again in a minute',
  archiving: (phase) => `is ${phase}: its video is finished and is being copied`,
  ended: (phase) => `is ${phase}: there is nothing to cancel`,
};

function refusalOf(taskId: string, { obstacle, phase }: NotCancellable): UsageError {
  return new UsageError(`${taskId} ${REFUSALS[obstacle](phase)}`);
}
