import { queryFirst, queryValue, type Transaction, whether } from '../../database/database.ts';
import { fromEveryPlace } from './every-task.ts';

/** The output of a task, if there is such a task and it has one. */
export const outputOf = queryValue<[taskId: string], string | undefined>(
  'task_output',
  fromEveryPlace(({ table, key }) => `select output_object_id from ${table} where ${key}.id = $1`),
  undefined,
);

// The files of an archived task are deleted, and so are the rows of its objects.
/** Whether an object without a row was the output of a task. */
export const wasOutput = whether<[objectId: string]>(
  'task_was_output',
  'select from archived_tasks where output_object_id = $1',
);

/** Records the takedown of an output without a row; undefined if it was the output of no task. */
export const takeDownDeleted = queryFirst<
  [objectId: string],
  { id: string; changed: boolean },
  Transaction
>(
  'task_take_down_deleted',
  `with task as materialized (
     select id, taken_down_at from archived_tasks where output_object_id = $1 for update),
   marked as (
     update archived_tasks set taken_down_at = clock_now()
     where id = (select id from task where taken_down_at is null))
   select id, taken_down_at is null as changed from task`,
);
