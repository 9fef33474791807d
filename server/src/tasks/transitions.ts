import type { AspectRatio } from '../catalog/models.ts';
import { inputsOf } from '../catalog/request.ts';
import {
  command,
  type Database,
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
  together,
} from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import { sharedWork } from '../database/shared-work.ts';
import { settle } from '../ledger/ledger.ts';
import { type TaskCredits, TEST_SURFACE } from '../ledger/transfer.ts';
import type { JobCost, OutputReference } from '../providers/provider.ts';
import { markForDeletion } from '../storage/objects.ts';
import { EVENTS_OF_MOVED } from '../webhooks/events.ts';
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

/** docs/ARCHITECTURE.md, "The life of a task". Ended tasks never move. */
export const TRANSITIONS: Record<Phase, readonly Phase[]> = {
  reserved: ['ingesting', 'submitting', 'failed'],
  ingesting: ['submitting', 'failed'],
  submitting: ['review', 'generating', 'held', 'failed'],
  review: ['submitting', 'failed'],
  generating: ['submitting', 'archiving', 'held', 'failed'],
  archiving: ['completed', 'held', 'failed'],
  held: ['generating', 'archiving', 'failed'],
  completed: [],
  failed: [],
};

/**
 * An omitted column keeps its value, except `heldCause`, `error` and `providerBilled`, which become
 * null.
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
  jobCost?: JobCost;
  /** How long the job computed, as the provider reports. */
  computeSeconds?: number;
}

export interface Move {
  to: Phase;
  changes?: Changes;
  /** Kept in the task's history for operators. */
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

// If a task is woken during its step, that due time wins: here (if the move has a delay) and in
// POSTPONE. A task that was held for its outcome keeps the time of its acceptance. The ids are also
// passed as an array, so that the rows are found by index.
const MOVE = statement(
  'task_move',
  `with given as materialized (
     select g.id, g."from", g.lease, g."to", g.held_cause, g.aspect_ratio, g.inputs,
       g.provider_output, g.output_object_id, g.output_facts, g.error_code, g.error_message,
       g.error_details, g.provider_billed, g.job_cost, g.job_cost_currency,
       g.job_compute_seconds, g.cause, g.delay_seconds, g.seen_at
     from jsonb_to_recordset($2::jsonb) as g (id text, "from" text, lease bigint, "to" text,
       held_cause text, aspect_ratio text, inputs jsonb, provider_output jsonb,
       output_object_id text, output_facts jsonb, error_code text, error_message text,
       error_details jsonb, provider_billed boolean, job_cost numeric, job_cost_currency text,
       job_compute_seconds numeric, cause jsonb, delay_seconds float8, seen_at float8)),
   moved as (
     update tasks set
       phase = given."to", held_cause = given.held_cause,
       aspect_ratio = coalesce(given.aspect_ratio, tasks.aspect_ratio),
       inputs = coalesce(given.inputs, tasks.inputs),
       provider_output = coalesce(given.provider_output, tasks.provider_output),
       output_object_id = coalesce(given.output_object_id, tasks.output_object_id),
       output_facts = coalesce(given.output_facts, tasks.output_facts),
       error_code = given.error_code, error_message = given.error_message,
       error_details = given.error_details, provider_billed = given.provider_billed,
       job_cost = coalesce(given.job_cost, tasks.job_cost),
       job_cost_currency = coalesce(given.job_cost_currency, tasks.job_cost_currency),
       job_compute_seconds = coalesce(given.job_compute_seconds, tasks.job_compute_seconds),
       accepted_at = case
         when given."to" = 'generating' and tasks.held_cause is distinct from 'outcome'
         then clock_now() else tasks.accepted_at end,
       outcome_holds = tasks.outcome_holds
         + case when given.held_cause = 'outcome' then 1 else 0 end,
       due_at = case when given."to" in ('completed', 'failed') then null
         when given.delay_seconds > 0 and tasks.due_at > to_timestamp(given.seen_at)
           then tasks.due_at
         else clock_now() + given.delay_seconds * interval '1 second' end,
       leased_until = case when given.delay_seconds = 0
         and given."to" not in ('completed', 'failed') then tasks.leased_until end,
       internal_failures = 0, refused_at = null, updated_at = clock_now()
     from given
     where tasks.id = any($1) and tasks.id = given.id and tasks.phase = given."from"
       and tasks.lease = given.lease
     returning ${TASK_COLUMNS},
       case when given."to" = 'submitting' and tasks.route_choice is not null
         then coalesce(given.cause, '{}') || jsonb_build_object('choice', tasks.route_choice)
         else given.cause end as move_cause),
   history as (
     insert into task_history (task_id, phase, cause) select id, phase, move_cause from moved),
   ${EVENTS_OF_MOVED}
   select ${TASK_FIELDS} from moved`,
);

export interface TaskMove {
  task: Task;
  next: Move;
}

/**
 * The only code that moves tasks: a compare-and-set per task on the phase and lease that the caller
 * read. The caller handles the credits and files of tasks that end.
 * @returns the moved tasks in the order of the moves; undefined for a task that is no longer in
 *   that phase under that lease
 */
export async function moveRows(tx: Queryable, moves: TaskMove[]): Promise<Array<Task | undefined>> {
  for (const { task, next } of moves) {
    if (TRANSITIONS[task.phase].includes(next.to)) continue;
    throw new Error(`a task can't go from ${task.phase} to ${next.to}`);
  }
  const ids = moves.map(({ task }) => task.id);
  const rows = await tx.query<Task>(MOVE, [ids, jsonText(moves.map(moveValues))]);
  const moved = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => moved.get(id));
}

export function superseded(task: Task): Superseded {
  return new Superseded(`${task.id} is no longer ${task.phase} under this lease`);
}

/**
 * Moves a task, together with the credit transfers and the deletions that belong to the new phase.
 * @throws Superseded when the task is no longer in that phase under that lease
 */
export async function move(tx: Transaction, task: Task, next: Move): Promise<Task> {
  const [moved] = await moveRows(tx, [{ task, next }]);
  if (!moved) throw superseded(task);
  if (next.to === 'completed') await endTasks(tx, [task], 'capture');
  if (next.to === 'failed') await endTasks(tx, [task], 'refund');
  return moved;
}

function moveValues({ task, next }: TaskMove): object {
  const { to, changes = {}, cause, delaySeconds = 0 } = next;
  const { error, jobCost } = changes;
  return {
    id: task.id,
    from: task.phase,
    lease: task.lease,
    to,
    held_cause: changes.heldCause,
    aspect_ratio: changes.aspectRatio,
    inputs: changes.inputs,
    provider_output: changes.providerOutput,
    output_object_id: changes.outputObjectId,
    output_facts: changes.outputFacts,
    error_code: error?.code,
    error_message: error?.message,
    error_details: error?.details,
    provider_billed: changes.providerBilled,
    job_cost: jobCost?.amount,
    job_cost_currency: jobCost?.currency,
    job_compute_seconds: changes.computeSeconds,
    cause,
    delay_seconds: delaySeconds,
    seen_at: task.now_seconds,
  };
}

function creditsOf(task: Task): TaskCredits {
  const { id: taskId, account_id: accountId, credits } = task;
  const isTest = task.surface === TEST_SURFACE;
  return { accountId, taskId, credits, promotionalCredits: task.promotional_credits, isTest };
}

/** Settles the reservations of ended tasks, and marks their unneeded files for deletion. */
export async function endTasks(
  tx: Transaction,
  tasks: Task[],
  outcome: 'capture' | 'refund',
): Promise<void> {
  const isDone = outcome === 'capture';
  const withFiles = isDone ? tasks.filter(({ request }) => inputsOf(request).length > 0) : tasks;
  await together(
    settle(tx, outcome, tasks.map(creditsOf)),
    markForDeletion(
      tx,
      withFiles.map(({ id }) => id),
      isDone ? ['input'] : ['input', 'output'],
    ),
  );
}

/** {@link move}, committed. Concurrent moves share a statement, unless they end a task. */
export async function moveNow(db: Database, task: Task, next: Move): Promise<Task> {
  if (next.to === 'completed' || next.to === 'failed') {
    return db.transaction((tx) => move(tx, task, next));
  }
  const moved = await moveShared(db, { task, next });
  if (!moved) throw superseded(task);
  return moved;
}

const moveShared = sharedWork<TaskMove, Task | undefined>({
  keyOf: ({ task }) => task.id,
  work: moveRows,
});

/** The moved task, ready for its next step, or `postponed` until it is due. */
export type StepResult = Task | 'postponed';

const POSTPONE = namedStatement(
  'task_postpone',
  `update tasks set leased_until = null,
     internal_failures = internal_failures + :internalFailures,
     due_at = case when due_at > to_timestamp(:seenAt) then due_at
       else clock_now() + :seconds * interval '1 second' end
   where id = :id and lease = :lease and due_at is not null`,
);

/** Makes a task due now. If a step is under way, the next one begins right after it. */
export const wakeTask = command<[taskId: string]>(
  'task_wake',
  `update tasks set due_at = clock_now()
   where id = $1 and (due_at > clock_now() or leased_until > clock_now())`,
);

/**
 * Makes a task due after `delay.seconds` and releases its lease. A task that was woken during the
 * step stays due.
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
