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
import { type FailureCode, type Phase, TASK_COLUMNS, type Task, type TaskInput } from './task.ts';

/** How long a worker may leave a task without renewing its lease, before another takes it over. */
export const LEASE_SECONDS = 10;

/** The life of a task: every transition there is (design section 3). Ended tasks have none. */
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

/** What a transition sets beside the phase; what is left out stays. */
export interface Changes {
  heldCause?: 'acceptance' | 'outcome';
  aspectRatio?: AspectRatio;
  inputs?: TaskInput[];
  providerOutput?: OutputReference;
  outputObjectId?: string;
  outputFacts?: object;
  error?: { code: FailureCode; message: string; details?: Record<string, unknown> };
  /** Whether the provider charges the operator for what failed; left out where nobody knows. */
  providerBilled?: boolean;
}

export interface Move {
  to: Phase;
  changes?: Changes;
  /** Why, for the operator's eyes: kept in the task's history. */
  cause?: Record<string, unknown>;
  /**
   * When the next step is due. 0, the default, lets the worker that holds the lease go on at once;
   * above 0 the lease ends.
   */
  delaySeconds?: number;
}

/** The task was moved by somebody else meanwhile: this worker has nothing more to do with it. */
export class Superseded extends Error {
  override name = 'Superseded';
}

// A wake-up that came since the step began is not slept over, here and in POSTPONE.
const MOVE = namedStatement(
  'task_move',
  [
    'id',
    'from',
    'lease',
    'to',
    'held_cause',
    'aspect_ratio',
    'inputs',
    'provider_output',
    'output_object_id',
    'output_facts',
    'error_code',
    'error_message',
    'error_details',
    'provider_billed',
    'cause',
    'delay_seconds',
    'seen_at',
  ],
  `with moved as (
     update tasks set
       phase = :to, held_cause = :held_cause,
       aspect_ratio = coalesce(:aspect_ratio, aspect_ratio), inputs = coalesce(:inputs, inputs),
       provider_output = coalesce(:provider_output, provider_output),
       output_object_id = coalesce(:output_object_id, output_object_id),
       output_facts = coalesce(:output_facts, output_facts),
       error_code = :error_code, error_message = :error_message, error_details = :error_details,
       provider_billed = :provider_billed,
       accepted_at = case when :to = 'generating' then coalesce(accepted_at, clock_now())
         else accepted_at end,
       outcome_holds = outcome_holds + case when :held_cause = 'outcome' then 1 else 0 end,
       due_at = case when :to in ('completed', 'failed') then null
         when :delay_seconds > 0 and due_at > to_timestamp(:seen_at) then due_at
         else clock_now() + :delay_seconds * interval '1 second' end,
       leased_until = case when :delay_seconds = 0 and :to not in ('completed', 'failed')
         then leased_until end,
       internal_failures = 0, refused_at = null, updated_at = clock_now()
     where id = :id and phase = :from and lease = :lease
     returning ${TASK_COLUMNS}),
   history as (
     insert into task_history (task_id, phase, cause) select id, :to, :cause from moved)
   select * from moved`,
);

/**
 * The one place that moves a task: a compare-and-set on the phase and lease that the caller saw,
 * together with the ledger's entries and the deletions that the new phase asks for.
 * @throws Superseded when somebody else moved or took over the task
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
    held_cause: changes.heldCause ?? null,
    aspect_ratio: changes.aspectRatio ?? null,
    inputs: json(changes.inputs),
    provider_output: json(changes.providerOutput),
    output_object_id: changes.outputObjectId ?? null,
    output_facts: json(changes.outputFacts),
    error_code: error?.code ?? null,
    error_message: error === undefined ? null : storable(error.message),
    error_details: json(error?.details),
    provider_billed: changes.providerBilled ?? null,
    cause: json(cause),
    delay_seconds: delaySeconds,
    seen_at: task.now_seconds,
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

/** What a step leaves: the moved task, for the next step to go on with, or `rest` until due. */
export type StepResult = Task | 'postponed';

const POSTPONE = namedStatement(
  'task_postpone',
  ['id', 'lease', 'seconds', 'internal_failures', 'seen_at'],
  `update tasks set leased_until = null,
     internal_failures = internal_failures + :internal_failures,
     due_at = case when due_at > to_timestamp(:seen_at) then due_at
       else clock_now() + :seconds * interval '1 second' end
   where id = :id and lease = :lease and due_at is not null`,
);

const WAKE = statement(
  'task_wake',
  `update tasks set due_at = clock_now()
   where id = $1 and (due_at > clock_now() or leased_until > clock_now())`,
);

/** Makes a task due now, whatever it waits for; a step under way will not rest after its end. */
export async function wakeTask(db: Queryable, taskId: string): Promise<void> {
  await db.query(WAKE, [taskId]);
}

/**
 * Lets a task rest in its phase and gives its lease back. One that was woken meanwhile does not
 * rest.
 * @param wait.internalFailures 1 when it rests because of a failure of ours
 */
export async function postpone(
  db: Queryable,
  task: Task,
  wait: { seconds: number; internalFailures?: 0 | 1 },
): Promise<'postponed'> {
  const values = POSTPONE.values({
    id: task.id,
    lease: task.lease,
    seconds: wait.seconds,
    internal_failures: wait.internalFailures ?? 0,
    seen_at: task.now_seconds,
  });
  await db.query(POSTPONE, values);
  return 'postponed';
}
