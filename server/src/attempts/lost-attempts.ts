import { namedStatement, statement, type Transaction } from '../database/database.ts';
import { RECOVERY_BEGAN } from '../database/lineage.ts';
import { newId } from '../kernel/ids.ts';
import { PHASES_BEFORE_ACCEPTANCE, TASK_COLUMNS, type Task } from '../tasks/task.ts';
import { move } from '../tasks/transitions.ts';

const PHASES = PHASES_BEFORE_ACCEPTANCE.map((phase) => `'${phase}'`).join(', ');

// Attempts are locked before their tasks, as in every transaction that records an outcome.
const LOCK_ATTEMPTS = statement(
  'forgotten_lock_attempts',
  `select from attempts where state in ('in_flight', 'unknown')
     and task_id in (select id from tasks where phase in (${PHASES}))
   order by id for update`,
);

// The new lease number fences off a worker that still has the task.
const LEASE = statement(
  'forgotten_lease',
  `update tasks set lease = lease + 1, leased_until = null
   where phase in (${PHASES})
     and (select count(*) from attempts where task_id = tasks.id and state = 'accepted') = 0
     and created_at < ${RECOVERY_BEGAN}
   returning ${TASK_COLUMNS}`,
);

// A find by this attempt's mark misses a lost attempt's job. Without the identity, no find proves
// that there is no job. The lost attempt may have been sent until now.
const UPDATE = statement(
  'forgotten_attempt_update',
  `update attempts set state = 'unknown', provider_identity = null, send_before = clock_now(),
     cause = $2
   where task_id = $1 and state in ('in_flight', 'unknown') returning id`,
);

const INSERT = namedStatement(
  'forgotten_attempt_insert',
  `insert into attempts (id, task_id, provider, state, created_at, send_before, cause)
   select :id, id, provider, 'unknown', updated_at, clock_now(), :cause
   from tasks where id = :taskId`,
);

/**
 * Holds each task that a provider may have accepted in the time that the database lost: all that
 * were not accepted when the recovery began. Each gets an attempt that stands in for the lost ones;
 * only a callback, a found job or an operator ends it.
 */
export async function holdLostAttempts(tx: Transaction, reason: string): Promise<string[]> {
  await tx.query(LOCK_ATTEMPTS);
  const tasks = await tx.query<Task>(LEASE);
  const cause = { restored: reason };
  const text = JSON.stringify(cause);
  for (const task of tasks) {
    const updated = await tx.query(UPDATE, [task.id, text]);
    if (updated.length === 0) {
      const id = newId('attempt');
      await tx.query(INSERT, INSERT.values({ id, taskId: task.id, cause: text }));
    }
    const submitted =
      task.phase === 'submitting' ? task : await move(tx, task, { to: 'submitting', cause });
    await move(tx, submitted, { to: 'held', changes: { heldCause: 'acceptance' }, cause });
  }
  return tasks.map((task) => task.id);
}
