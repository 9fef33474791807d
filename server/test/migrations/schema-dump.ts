import type { Database } from '../../src/database/database.ts';
import { sql } from '../task-fixtures.ts';

/** One line for each thing in the schema. Its rows, and the order of the columns, don't count. */
const LINES = `
  select format('column %s.%s %s%s default %s', c.relname, a.attname,
      format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' end,
      coalesce(pg_get_expr(d.adbin, d.adrelid), a.attidentity::text)) as line
    from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
      and a.attnum > 0 and not a.attisdropped
  union all select format('table %s %s %s %s', relname, relkind, relpersistence, reloptions)
    from pg_class where relnamespace = 'public'::regnamespace and relkind <> 'i'
  union all select format('constraint %s.%s %s %s', conrelid::regclass, conname,
      pg_get_constraintdef(oid), convalidated)
    from pg_constraint where connamespace = 'public'::regnamespace
  union all select format('index %s %s', pg_get_indexdef(indexrelid), indisvalid) from pg_index
    where indexrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
  union all select format('view %s %s', viewname, definition) from pg_views
    where schemaname = 'public'
  union all select format('trigger %s %s', pg_get_triggerdef(oid), tgenabled) from pg_trigger
    where not tgisinternal
  union all select pg_get_functiondef(oid) from pg_proc
    where pronamespace = 'public'::regnamespace
  order by line`;

/** The schema of a database as sorted lines, to compare it with another one. */
export async function dumpSchema(db: Database): Promise<string[]> {
  return (await sql<{ line: string }>(db, LINES)).map(({ line }) => line);
}
