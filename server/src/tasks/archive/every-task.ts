import { whether } from '../../database/database.ts';
import { objectsOfTask } from '../../storage/object-sql.ts';

/**
 * One of the two places of tasks, in SQL: the table of live and newly ended tasks, or the archive,
 * which has one row per task with a JSON record of it (decisions/0025).
 */
interface Place {
  /** The table, for what needs no other column than those that {@link Place.key} names. */
  table: string;
  /** The table with the whole row of each task, by the name `tasks`. */
  rows: string;
  /**
   * The name of the table, for its own columns. Both tables have id, account_id, phase, credits,
   * provider, output_object_id, api_key_id and created_at, with the indexes to find tasks by.
   */
  key: 'tasks' | 'a';
  model: string;
  surface: string;
  archivedAt: string;
  /** JSON arrays, the oldest entry first. */
  history: string;
  objects: string;
}

/** SQL for a JSON array of rows, in the given order. */
export function jsonRows(from: string, { row, order }: { row: string; order: string }): string {
  return `(select coalesce(jsonb_agg(${row} order by ${order}), '[]') from ${from})`;
}

/** SQL for a JSON array of the rows that a table has of a task, in the given order. */
export const jsonRowsOf = (table: string, task: string, order: string) =>
  jsonRows(`${table} r where r.task_id = ${task}`, { row: `to_jsonb(r) - 'task_id'`, order });

const PLACES: Place[] = [
  {
    table: 'tasks',
    rows: 'tasks',
    key: 'tasks',
    model: `tasks.request->>'model'`,
    surface: 'tasks.surface',
    archivedAt: 'null::timestamptz',
    history: jsonRowsOf('task_history', 'tasks.id', 'r.at'),
    objects: objectsOfTask('tasks.id'),
  },
  {
    table: 'archived_tasks a',
    rows: `archived_tasks a
       cross join lateral jsonb_populate_record(null::tasks, a.record->'task') as tasks`,
    key: 'a',
    model: `a.record#>>'{task,request,model}'`,
    surface: `a.record#>>'{task,surface}'`,
    archivedAt: 'a.archived_at',
    history: `a.record->'history'`,
    objects: `a.record->'objects'`,
  },
];

/**
 * SQL that reads tasks wherever they are: the same `select` of both places. A task is in exactly
 * one of them in each snapshot.
 */
export function fromEveryPlace(select: (place: Place) => string): string {
  return PLACES.map((place) => `(${select(place)})`).join('\n     union all\n     ');
}

/** A condition: there is a task with this id. */
export function taskExists(id: string): string {
  return PLACES.map(
    ({ table, key }) => `exists (select from ${table} where ${key}.id = ${id})`,
  ).join(' or ');
}

/** SQL: the jobs of archived tasks. Those of the others belong to attempts. */
export const ARCHIVED_JOBS = '(select id as task_id, provider, job_id from archived_tasks)';

const FIRST = fromEveryPlace(
  ({ table, key }) => `select ${key}.id from ${table} order by ${key}.id limit 1`,
);

/** Whether the installation has ever had a task. */
export const hasTasks = whether<[]>('task_any', `select from (${FIRST}) any_task`);
