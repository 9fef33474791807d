import { type Database, statement } from '../../server/src/database/database.ts';

const AGE = `interval '100 days' + n * interval '1 second'`;

/** How the rows of a task are copied: the columns that become new ones. `n` counts the copies. */
const COPIES = [
  [
    'tasks',
    'id = $1',
    `'id', old.id || n, 'idempotency_key', gen_random_uuid()::text,
     'output_object_id', old.output_object_id || n, 'created_at', old.created_at - ${AGE},
     'updated_at', old.updated_at - ${AGE}`,
  ],
  [
    'attempts',
    'task_id = $1',
    `'id', old.id || n, 'task_id', old.task_id || n, 'job_id', old.job_id || n`,
  ],
  [
    'evidence',
    'attempt_id in (select id from attempts where task_id = $1)',
    `'attempt_id', old.attempt_id || n`,
  ],
  ['task_history', 'task_id = $1', `'task_id', old.task_id || n`],
  [
    'stored_objects',
    'owner_id = $1',
    `'id', old.id || n, 'owner_id', old.owner_id || n, 'state', 'deleted',
     'delete_after', clock_now()`,
  ],
  [
    'idempotency_keys',
    'task_id = $1',
    `'key', gen_random_uuid()::text, 'task_id', old.task_id || n`,
  ],
  [
    'ledger_transfers',
    `reference in ('reserve:' || $1, 'settle:' || $1)`,
    `'id', nextval(pg_get_serial_sequence('ledger_transfers', 'id')),
     'reference', old.reference || n`,
  ],
] as const;

export const TABLES = COPIES.map(([table]) => table);

const SIZES = statement(
  'capacity_sizes',
  `select t as name, pg_total_relation_size(t::regclass)::float8 as bytes
   from unnest($1::text[]) as t`,
);

export async function sizesOf(db: Database, tables: string[]): Promise<Record<string, number>> {
  const rows = await db.query<{ name: string; bytes: number }>(SIZES, [tables]);
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}

/** Copies all rows of an ended task, so that sizes can be measured. */
export async function multiply(db: Database, taskId: string, count: number): Promise<void> {
  for (const [table, where, changes] of COPIES) {
    const [{ columns } = { columns: '' }] = await db.query<{ columns: string }>(
      statement(
        '',
        `select string_agg(quote_ident(attname), ', ' order by attnum) as columns
         from pg_attribute where attrelid = '${table}'::regclass and attnum > 0
           and not attisdropped`,
      ),
    );
    await db.query(
      statement(
        '',
        `insert into ${table} (${columns}) overriding system value
         select ${prefixed(columns)}
         from generate_series(1, ${count}) n
         cross join lateral (select old.* from ${table} old where ${where}) old
         cross join lateral jsonb_populate_record(null::${table},
           to_jsonb(old) || jsonb_build_object(${changes})) made`,
      ),
      [taskId],
    );
  }
}

function prefixed(columns: string): string {
  return columns
    .split(', ')
    .map((column) => `made.${column}`)
    .join(', ');
}
