import { Type } from 'typebox';
import { findAccount, withEmail, withEmails } from '../../accounts/accounts.ts';
import type { Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { recordAction } from '../../operator/actions.ts';
import { cancelTask } from '../../operator/cancel.ts';
import { type OperatorDecision, reconcile } from '../../operator/reconcile.ts';
import { type HeldFilter, reconcileHeld, selectHeld } from '../../operator/reconcile-held.ts';
import { takeDown } from '../../operator/takedown.ts';
import { wakeByOperator } from '../../operator/wake.ts';
import { isJobId } from '../../providers/kit/job-id.ts';
import { listDue, listTasks, showTask } from '../../tasks/listing/task-listing.ts';
import { TRANSITIONS } from '../../tasks/transitions.ts';
import { operatorAction, operatorRead, PAGE, PAGE_ROWS, pageOf } from './operator-route.ts';

/** How long a cancel waits for what the provider says. */
const CANCEL_SECONDS = 3;

const Phase = Type.Enum(Object.keys(TRANSITIONS));
const Decision = Type.Enum(['accepted', 'not_accepted', 'failed']);

/** Which held tasks are decided together. */
const HELD = {
  provider: Type.Optional(Type.String({ maxLength: 100 })),
  account: Type.Optional(Type.String({ maxLength: 254 })),
  hours: Type.Optional(Type.String({ pattern: '^\\d{1,6}$' })),
  cause: Type.Optional(Type.Enum(['acceptance', 'outcome'])),
};

export const OPERATOR_TASKS = [
  operatorRead('/held', HELD, async ({ db }, { query }) => {
    const { tasks, confirm } = await selectHeld(db, heldFilter(query));
    return { tasks: await withEmails(db, tasks), confirm };
  }),
  operatorAction(
    'tasks reconcile',
    '/held/decide',
    {
      ...HELD,
      decision: Type.Enum(['not_accepted', 'failed']),
      confirm: Type.String({ maxLength: 100 }),
    },
    async ({ db }, { body, action }) => {
      const decided = { filter: heldFilter(body), kind: body.decision, confirm: body.confirm };
      const result = await reconcileHeld(db, action, decided);
      return { ...result, changed: result.decided > 0 };
    },
  ),
  operatorRead(
    '/tasks',
    {
      ...PAGE,
      phase: Type.Optional(Phase),
      account: Type.Optional(Type.String({ maxLength: 254 })),
      due: Type.Optional(Type.Literal('yes')),
    },
    async ({ db }, { query: { cursor, phase, account, due } }) => {
      if (due) return { items: await withEmails(db, await listDue(db, PAGE_ROWS)), next: null };
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      const filter = { phase, accountId, after: cursor, limit: PAGE_ROWS };
      return pageOf(await withEmails(db, await listTasks(db, filter)), ({ id }) => id);
    },
  ),
  operatorRead('/tasks/:id', {}, async ({ db }, { id }) => withEmail(db, await showTask(db, id))),
  operatorAction(
    'reconcile',
    '/tasks/:id/decide',
    { decision: Decision, job_id: Type.Optional(Type.String({ maxLength: 300 })) },
    ({ db }, { id, body, action }) => {
      const decision = readDecision(body);
      const record = (tx: Transaction) =>
        recordAction(tx, action, { target: id, details: decision });
      return reconcile(db, id, decision, action.reason, record);
    },
  ),
  operatorAction('tasks cancel', '/tasks/:id/cancel', {}, ({ db }, { id, action }) =>
    cancelTask(db, action, id, CANCEL_SECONDS),
  ),
  operatorAction('tasks wake', '/tasks/:id/wake', {}, ({ db }, { id, action }) =>
    wakeByOperator(db, action, id),
  ),
  operatorAction('objects takedown', '/tasks/:id/takedown', {}, ({ db }, { id, action }) =>
    takeDown(db, action, id),
  ),
];

function heldFilter(given: {
  provider?: string;
  account?: string;
  hours?: string;
  cause?: 'acceptance' | 'outcome';
}): HeldFilter {
  const { provider, account, hours = '0', cause } = given;
  return { provider, account, hours: Number(hours), cause };
}

function readDecision(body: { decision: string; job_id?: string }): OperatorDecision {
  const jobId = body.job_id?.trim();
  switch (body.decision) {
    case 'accepted':
      if (!isJobId(jobId)) throw new UsageError('name the job of the provider');
      return { kind: 'accepted', jobId };
    case 'not_accepted':
      return { kind: 'not_accepted' };
    default:
      return { kind: 'failed' };
  }
}
