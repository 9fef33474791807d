import { type Queryable, statement } from '../../src/database/database.ts';

// Both balances are locked while a transfer of the reservation gets its id.
const PROBLEMS = statement(
  '',
  `select name || ': paid credits were reserved, but ' || before.available_after
     || ' promotional ones were left' as problem
   from unnest($1::text[]) as web (name)
   join ledger_transfers paid on paid.reference = 'reserve:' || name
   left join ledger_transfers gift on gift.reference = 'reserve:' || name || ':promotional'
   cross join lateral (select available_after from ledger_transfers t
     where t.account_id = paid.account_id and t.kind = 'promotional'
       and t.id <= coalesce(gift.id, paid.id)
     order by id desc limit 1) before
   where before.available_after > 0`,
);

/** The tasks of the website that reserved paid credits while promotional ones were left. */
export async function splitProblems(db: Queryable, tasks: string[]): Promise<string[]> {
  const rows = await db.query<{ problem: string }>(PROBLEMS, [tasks]);
  return rows.map(({ problem }) => problem);
}
