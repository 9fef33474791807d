import { type Static, Type } from 'typebox';
import { listKeys } from '../../accounts/api-keys.ts';
import type { Database } from '../../database/database.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { csvTable } from '../../kernel/text/csv.ts';
import { accountUsage, type UsageRow } from '../../tasks/account-tasks.ts';
import { ModeSchema, type PageDeps, type ResultOf, siteRoute } from '../route.ts';
import { sendCsv } from '../send-file.ts';

const DAY_MS = 86_400_000;
const SHAPE = /^\d{4}-\d\d-\d\d$/;

/** The start of a UTC day such as 2026-11-22. @throws ApiError `invalid_request` */
export function startOfDay(field: string, text: string): Date {
  const time = SHAPE.test(text) ? new Date(`${text}T00:00:00Z`) : new Date(Number.NaN);
  // Rejects 2026-02-30, which Date reads as a day in March.
  if (!Number.isNaN(time.getTime()) && time.toISOString().startsWith(text)) return time;
  const details = { field, reason: 'malformed' };
  throw invalidRequest(`${field} must be a day, such as 2026-11-22.`, details);
}

export function dayAfter(field: string, text: string): Date {
  return new Date(startOfDay(field, text).getTime() + DAY_MS);
}

function daysBefore(time: Date, days: number): string {
  return new Date(time.getTime() - days * DAY_MS).toISOString().slice(0, 10);
}

export type Usage = ResultOf<typeof readUsage>;
/** Usage on one day, with one model and one API key. */
export type UsageEntry = Usage['rows'][number];

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
/** Limited because a year of a large account takes the database half a second. */
const READS = { max: 30, seconds: 60 };

const Query = Type.Object({
  mode: ModeSchema,
  from: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
});

const readUsage = siteRoute('GET /console/api/usage', {
  rate: READS,
  query: Query,
  handle: ({ db }: PageDeps, { query, session: { accountId } }) => usageOf(db, accountId, query),
});

const COLUMNS = ['day', 'model', 'surface', 'api_key_id', 'api_key_name'] as const;
const COUNTS = ['tasks', 'videos', 'failed', 'credits'] as const;

const downloadUsage = siteRoute('GET /console/api/usage.csv', {
  rate: READS,
  query: Query,
  handle: async ({ db }: PageDeps, { query, reply, session: { accountId } }): Promise<void> => {
    const { from, to, rows } = await usageOf(db, accountId, query);
    const fileName = `${query.mode === 'test' ? 'test-' : ''}usage-${from}-${to}.csv`;
    sendCsv(reply, fileName, csvTable([...COLUMNS, ...COUNTS], rows));
  },
});

async function usageOf(db: Database, accountId: string, query: Static<typeof Query>) {
  const to = query.to ?? daysBefore(new Date(), 0);
  const until = dayAfter('to', to);
  const from = query.from ?? daysBefore(until, DEFAULT_DAYS);
  const start = startOfDay('from', from);
  const days = (until.getTime() - start.getTime()) / DAY_MS;
  if (days < 1 || days > MAX_DAYS) {
    const message = `The period must begin before it ends, and last ${MAX_DAYS} days at most.`;
    throw invalidRequest(message, { field: 'from', reason: 'out_of_range' });
  }
  const isTest = query.mode === 'test';
  const rows = await accountUsage(db, accountId, { isTest, from: start, until });
  const names = new Map((await listKeys(db, accountId)).map((key) => [key.key_id, key.name]));
  const nameOf = ({ api_key_id: id }: UsageRow) => (id === null ? null : (names.get(id) ?? null));
  return { from, to, rows: rows.map((row) => ({ ...row, api_key_name: nameOf(row) })) };
}

export const USAGE_ROUTES = [readUsage, downloadUsage];
