import { Readable } from 'node:stream';
import { type Static, Type } from 'typebox';
import { describeMovement, offersOf, orderIdOf, publicNote } from '../../billing/movement-words.ts';
import type { Database } from '../../database/database.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { csvLine } from '../../kernel/text/csv.ts';
import { readIsoTime } from '../../kernel/text/iso-time.ts';
import {
  type Movement,
  movementPage,
  openStatement,
  type PagedMovement,
} from '../../ledger/statement.ts';
import type { BalanceKind, Reason } from '../../ledger/transfer.ts';
import { limitSchema } from '../../requests/routes.ts';
import { ModeSchema, type PageDeps, type ResultOf, siteRoute } from '../route.ts';
import { sendCsv } from '../send-file.ts';

export type StatementLine = ResultOf<typeof getStatement>['items'][number];

const KIND = Type.Union([Type.Literal('paid'), Type.Literal('promotional')]);
const GROUP = Type.Union([
  Type.Literal('purchases'),
  Type.Literal('videos'),
  Type.Literal('other'),
]);

const GROUPS: Record<Static<typeof GROUP>, Reason[]> = {
  purchases: ['grant', 'clawback', 'repay'],
  videos: ['reserve', 'capture', 'refund'],
  other: ['adjust', 'expire'],
};

const PeriodSchema = Type.Object({
  mode: ModeSchema,
  kind: Type.Optional(KIND),
  /** ISO 8601; UTC if it has no zone. `from` is inclusive, `to` exclusive. */
  from: Type.Optional(Type.String({ maxLength: 40 })),
  to: Type.Optional(Type.String({ maxLength: 40 })),
});
type Period = Static<typeof PeriodSchema>;

const getStatement = siteRoute('GET /console/api/statement', {
  rate: { max: 60, seconds: 60 },
  query: Type.Object({
    ...PeriodSchema.properties,
    group: Type.Optional(GROUP),
    cursor: Type.Optional(Type.String({ pattern: '^\\d{1,18}$' })),
    limit: limitSchema(),
  }),
  handle: async ({ db }: PageDeps, { query, session: { accountId } }) => {
    const limit = query.limit ?? 50;
    const rows = await movementPage(db, accountId, {
      ...periodOf(query),
      reasons: query.group ? GROUPS[query.group] : null,
      before: query.cursor === undefined ? null : Number(query.cursor),
      limit,
    });
    const offers = await offersOf(db, rows);
    const items = rows.map((row) => ({ ...lineOf(row, offers), note: publicNote(row) }));
    return { items, next: rows.length < limit ? null : String(rows.at(-1)?.id) };
  },
});

function lineOf(row: PagedMovement, offers: Map<string, string>) {
  const { id, at, kind, reason, credits, task_id } = row;
  return {
    id: String(id),
    at,
    kind,
    reason,
    what: describeMovement(row, offers),
    change: changeOf(row),
    credits,
    balance_after: row.available_after,
    task_id,
    order_id: orderIdOf(row),
  };
}

function changeOf({ from, to, credits }: Pick<PagedMovement, 'from' | 'to' | 'credits'>): number {
  if (to === 'available') return credits;
  return from === 'available' ? -credits : 0;
}

const KINDS: Record<Period['mode'], BalanceKind[]> = {
  live: ['paid', 'promotional'],
  test: ['test'],
};

function periodOf({ mode, kind, from, to }: Period) {
  const kinds = KINDS[mode].filter((candidate) => kind === undefined || candidate === kind);
  return { kinds, from: readTime('from', from), until: readTime('to', to) };
}

function readTime(name: string, text: string | undefined): Date | null {
  if (text === undefined) return null;
  const time = readIsoTime(text);
  if (time) return time;
  throw invalidRequest(`${name} must be an ISO 8601 time.`, { field: name });
}

const CSV_CELLS: Record<string, (row: Movement, offers: Map<string, string>) => unknown> = {
  time: ({ at }) => at,
  kind: ({ kind }) => kind,
  what: describeMovement,
  change: changeOf,
  credits: ({ credits }) => credits,
  from: ({ from }) => from,
  to: ({ to }) => to,
  task_id: ({ task_id: id }) => id,
  order_id: orderIdOf,
  note: publicNote,
  expires_at: (row) => row.expires_at,
  available_after: (row) => row.available_after,
  reserved_after: (row) => row.reserved_after,
  owed_after: (row) => row.debt_after,
};

/** Sends the movements kind by kind, oldest first: as a stream, since there may be millions. */
const getStatementCsv = siteRoute('GET /console/api/statement.csv', {
  rate: { max: 10, seconds: 60 },
  query: PeriodSchema,
  handle: async ({ db }: PageDeps, { query, reply, session: { accountId } }): Promise<void> => {
    const { kinds, from, until } = periodOf(query);
    const fileName = query.mode === 'test' ? 'test-credits.csv' : 'credits.csv';
    const period = { kinds, from: from ?? undefined, until: until ?? undefined };
    sendCsv(reply, fileName, Readable.from(statementCsv(db, accountId, period)));
  },
});

const CSV_ROWS = 500;

/** The movements of a period, kind by kind, oldest first. */
export async function* statementCsv(
  db: Database,
  accountId: string,
  period: Parameters<typeof openStatement>[2],
): AsyncGenerator<string> {
  const { movements } = await openStatement(db, accountId, period);
  yield csvLine(Object.keys(CSV_CELLS));
  const textOf = async (rows: Movement[]) => {
    const offers = await offersOf(db, rows);
    return rows
      .map((row) => csvLine(Object.values(CSV_CELLS).map((cellOf) => cellOf(row, offers))))
      .join('');
  };
  let rows: Movement[] = [];
  for await (const row of movements) {
    rows.push(row);
    if (rows.length < CSV_ROWS) continue;
    yield await textOf(rows);
    rows = [];
  }
  yield await textOf(rows);
}

export const STATEMENT_ROUTES = [getStatement, getStatementCsv];
