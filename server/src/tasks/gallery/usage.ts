import { type Database, namedStatement } from '../../database/database.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';

/** An account's tasks created on one day with one model and API key. */
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
  /** Charged or reserved, minus refunds. */
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
 * An account's usage in a period by UTC day, model, surface and API key: of test tasks only, or of
 * all others.
 */
export function accountUsage(
  db: Database,
  accountId: string,
  wanted: { isTest: boolean; from: Date; until: Date },
): Promise<UsageRow[]> {
  return db.query<UsageRow>(READ, READ.values({ accountId, ...wanted }));
}
