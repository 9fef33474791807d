import type { AspectRatio } from '../catalog/models.ts';
import {
  type Database,
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
} from '../database/database.ts';
import { jsonText, storable } from '../database/json-text.ts';
import { settle } from '../ledger/ledger.ts';
import type { OutputReference } from '../providers/provider.ts';
import { markForDeletion } from '../storage/objects.ts';
import {
  type FailureCode,
  type Phase,
  TASK_COLUMNS,
  TASK_FIELDS,
  type Task,
  type TaskInput,
} from './task.ts';

/** A lease ends this long after its last renewal; then another worker may lease the task. */
export const LEASE_SECONDS = 10;

/**
 * All transitions of a task (docs/ARCHITECTURE.md, "The life of a task"). Ended tasks never move.
 */
export const TRANSITIONS: Record<Phase, readonly Phase[]> = {
  reserved: ['ingesting', 'submitting', 'failed'],
  ingesting: ['submitting', 'failed'],
  submitting: ['generating', 'held', 'failed'],
  generating: ['archiving', 'held', 'failed'],
  archiving: ['completed', 'held', 'failed'],
  held: ['generating', 'archiving', 'failed'],
  completed: [],
  failed: [],
};

/**
 * The columns that a transition sets besides the phase. An omitted one keeps its value, except
 * `heldCause`, `error` and `providerBilled`, which become null.
 */
export interface Changes {
  heldCause?: 'acceptance' | 'outcome';
  aspectRatio?: AspectRatio;
  inputs?: TaskInput[];
  providerOutput?: OutputReference;
  outputObjectId?: string;
  outputFacts?: object;
  error?: { code: FailureCode; message: string; details?: Record<string, unknown> };
  /** Whether the provider charges for the failed job; omitted if that is not known. */
  providerBilled?: boolean;
}

export interface Move {
  to: Phase;
  changes?: Changes;
  /** The reason for the move, kept in the task's history for operators. */
  cause?: Record<string, unknown>;
  /**
   * When the next step is due. With 0, the default, the worker keeps its lease and continues at
   * once; above 0 the lease ends.
   */
  delaySeconds?: number;
}

/** Another worker or an operator moved or leased the task: the caller has to stop working on it. */
export class Superseded extends Error {
  override name = 'Superseded';
}

// Here (if the move has a delay) and in POSTPONE: a task that was woken during this step keeps the
// due time of the wake.
const MOVE = namedStatement(
  'task_move',
  [
    'id',
    'from',
    'lease',
    'to',
    'heldCause',
    'aspectRatio',
    'inputs',
    'providerOutput',
    'outputObjectId',
    'outputFacts',
    'errorCode',
    'errorMessage',
    'errorDetails',
    'providerBilled',
    'cause',
    'delaySeconds',
    'seenAt',
  ],
  `with moved as (
     update tasks set
       phase = :to, held_cause = :heldCause,
       aspect_ratio = coalesce(:aspectRatio, aspect_ratio), inputs = coalesce(:inputs, inputs),
       provider_output = coalesce(:providerOutput, provider_output),
       output_object_id = coalesce(:outputObjectId, output_object_id),
       output_facts = coalesce(:outputFacts, output_facts),
       error_code = :errorCode, error_message = :errorMessage, error_details = :errorDetails,
       provider_billed = :providerBilled,
       accepted_at = case when :to = 'generating' then coalesce(accepted_at, clock_now())
         else accepted_at end,
       outcome_holds = outcome_holds + case when :heldCause = 'outcome' then 1 else 0 end,
       due_at = case when :to in ('completed', 'failed') then null
         when :delaySeconds::float8 > 0 and due_at > to_timestamp(:seenAt) then due_at
         else clock_now() + :delaySeconds::float8 * interval '1 second' end,
       leased_until = case when :delaySeconds::float8 = 0 and :to not in ('completed', 'failed')
         then leased_until end,
       internal_failures = 0, refused_at = null, updated_at = clock_now()
     where id = :id and phase = :from and lease = :lease
     returning ${TASK_COLUMNS}),
   history as (
     insert into task_history (task_id, phase, cause) select id, :to, :cause from moved)
   select ${TASK_FIELDS} from moved`,
);

/**
 * The one place that moves a task: a compare-and-set on the phase and the lease that the caller
 * read, together with the credit transfers and the deletions that belong to the new phase.
 * @throws Superseded when the task is no longer in that phase under that lease
 */
export async function move(tx: Transaction, task: Task, step: Move): Promise<Task> {
  if (!TRANSITIONS[task.phase].includes(step.to)) {
    throw new Error(`a task can't go from ${task.phase} to ${step.to}`);
  }
  const [moved] = await tx.query<Task>(MOVE, moveValues(task, step));
  if (!moved) throw new Superseded(`${task.id} is no longer ${task.phase} under this lease`);
  if (step.to === 'completed') await end(tx, task, 'capture');
  if (step.to === 'failed') await end(tx, task, 'refund');
  return moved;
}

function moveValues(task: Task, { to, changes = {}, cause, delaySeconds = 0 }: Move): unknown[] {
  const { error } = changes;
  return MOVE.values({
    id: task.id,
    from: task.phase,
    lease: task.lease,
    to,
    heldCause: changes.heldCause ?? null,
    aspectRatio: changes.aspectRatio ?? null,
    inputs: json(changes.inputs),
    providerOutput: json(changes.providerOutput),
    outputObjectId: changes.outputObjectId ?? null,
    outputFacts: json(changes.outputFacts),
    errorCode: error?.code ?? null,
    errorMessage: error === undefined ? null : storable(error.message),
    errorDetails: json(error?.details),
    providerBilled: changes.providerBilled ?? null,
    cause: json(cause),
    delaySeconds,
    seenAt: task.now_seconds,
  });
}

function json(value: unknown): string | null {
  return value === undefined ? null : jsonText(value);
}

async function end(tx: Transaction, task: Task, outcome: 'capture' | 'refund'): Promise<void> {
  const { id: taskId, account_id: accountId, credits } = task;
  await settle(tx, { accountId, taskId, credits, outcome });
  await markForDeletion(tx, taskId, outcome === 'capture' ? ['input'] : ['input', 'output']);
}

/** {@link move} in a transaction of its own. */
export function moveNow(db: Database, task: Task, step: Move): Promise<Task> {
  return db.transaction((tx) => move(tx, task, step));
}

/**
 * The result of a step: the moved task, ready for its next step, or `postponed` until it is due.
 */
export type StepResult = Task | 'postponed';

const POSTPONE = namedStatement(
  'task_postpone',
  ['id', 'lease', 'seconds', 'internalFailures', 'seenAt'],
  `update tasks set leased_until = null,
     internal_failures = internal_failures + :internalFailures,
     due_at = case when due_at > to_timestamp(:seenAt) then due_at
       else clock_now() + :seconds * interval '1 second' end
   where id = :id and lease = :lease and due_at is not null`,
);

const WAKE = statement(
  'task_wake',
  `update tasks set due_at = clock_now()
   where id = $1 and (due_at > clock_now() or leased_until > clock_now())`,
);

/** Makes a task due now. If a step is under way, the next one begins right after it. */
export async function wakeTask(db: Queryable, taskId: string): Promise<void> {
  await db.query(WAKE, [taskId]);
}

/**
 * Leaves a task in its phase, makes it due after `delay.seconds` and releases its lease. A task
 * that was woken during the step stays due.
 * @param delay.internalFailures 1 when the reason is a failure of the service itself
 */
export async function postpone(
  db: Queryable,
  task: Task,
  delay: { seconds: number; internalFailures?: 0 | 1 },
): Promise<'postponed'> {
  const values = POSTPONE.values({
    id: task.id,
    lease: task.lease,
    seconds: delay.seconds,
    internalFailures: delay.internalFailures ?? 0,
    seenAt: task.now_seconds,
  });
  await db.query(POSTPONE, values);
  return 'postponed';
}
