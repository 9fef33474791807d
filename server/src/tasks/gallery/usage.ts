import { type Database, namedStatement } from '../../database/database.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';

/** The tasks of an account that were created on a day, with one model and one API key. */
export interface UsageRow {
  /** UTC, as 2026-11-22. */
  day: string;
  model: string;
  surface: string;
  /** null: a task of the website. */
  api_key_id: string | null;
  tasks: number;
  videos: number;
  failed: number;
  /** Charged or reserved; what was refunded is subtracted. */
  credits: number;
}

const READ = namedStatement(
  'gallery_usage',
  ['accountId', 'isTest', 'from', 'until'],
  `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day,
     request->>'model' as model, surface, api_key_id,
     count(*)::int as tasks, (count(*) filter (where phase = 'completed'))::int as videos,
     (count(*) filter (where phase = 'failed'))::int as failed,
     coalesce(sum(credits) filter (where phase <> 'failed'), 0)::bigint as credits
   from tasks
   where account_id = :accountId and created_at >= :from::timestamptz
     and created_at < :until::timestamptz and (surface = '${TEST_SURFACE}') = :isTest::boolean
   group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
);

/**
 * What an account used in a period, by day, model, surface and API key: in test tasks, or in all
 * others. Days are UTC.
 */
export function accountUsage(
  db: Database,
  accountId: string,
  wanted: { isTest: boolean; from: Date; until: Date },
): Promise<UsageRow[]> {
  return db.query<UsageRow>(READ, READ.values({ accountId, ...wanted }));
}
