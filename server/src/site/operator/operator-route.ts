import { type Static, type TObject, type TProperties, Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import type { RecentMinutes } from '../../http/operations/recent-minutes.ts';
import { ApiError, UsageError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Action } from '../../operator/actions.ts';
import { sessionOf, siteRoute } from '../route.ts';

export interface OperatorDeps {
  db: Database;
  log: Log;
  /** What this process did in the last two hours. */
  recent: RecentMinutes;
  /** The provider that gets new tasks. */
  providerName: string;
  /** The providers that this process is configured for, by name. */
  providers: { has(name: string): boolean };
}

const PREFIX = '/console/api/operator';
const ParamsSchema = Type.Object({ id: Type.Optional(Type.String()) });

/** What a read gets. */
interface Asked<Query> {
  query: Query;
  /** What the path names; empty if it names nothing. */
  id: string;
}

/** GET: only operators can read it. To all others the path does not exist. */
export function operatorRead<Url extends string, Query extends TProperties, Result>(
  url: Url,
  query: Query,
  read: (deps: OperatorDeps, asked: Asked<Static<TObject<Query>>>) => Promise<Result>,
) {
  const isOfOne = url.includes('/:id');
  return siteRoute({
    method: 'GET',
    url: `${PREFIX}${url}` as const,
    access: 'operator',
    query: Type.Object(query),
    params: ParamsSchema,
    handle: (deps: OperatorDeps, { query: asked, params: { id = '' } }) =>
      explained(() => read(deps, { query: asked as Static<TObject<Query>>, id }), isOfOne),
  });
}

const ReasonSchema = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$',
});

/** What a change gets. */
interface Ordered<Body> {
  body: Body;
  /** What the path names; empty if it names nothing. */
  id: string;
  /** For the record: the command of the CLI that does the same, by whom, and why. */
  action: Action & { reason: string };
}

/**
 * POST: a change that the command of the CLI makes too, with the same record. The body has its
 * reason, and the session says who decided.
 */
export function operatorAction<Url extends string, Body extends TProperties, Result>(
  command: string,
  url: Url,
  body: Body,
  run: (deps: OperatorDeps, ordered: Ordered<Static<TObject<Body>>>) => Promise<Result>,
) {
  return siteRoute({
    method: 'POST',
    url: `${PREFIX}${url}` as const,
    access: 'operator',
    body: Type.Object({ ...body, reason: ReasonSchema }),
    params: ParamsSchema,
    handle: (deps: OperatorDeps, { body: sent, params: { id = '' }, request }) => {
      const { reason, ...rest } = sent as { reason: string };
      const action = { command, actor: sessionOf(request).email, reason: reason.trim() };
      const ordered = { body: rest as Static<TObject<Body>>, action, id };
      return explained(() => run(deps, ordered));
    },
  });
}

/**
 * What a command would print as a mistake becomes an error of the request. The only mistake of a
 * read of one thing is an id that nothing has.
 */
async function explained<Result>(work: () => Promise<Result>, isReadOfOne = false) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const sentence = error.message.charAt(0).toUpperCase() + error.message.slice(1);
    if (isReadOfOne) throw new ApiError('not_found', `${sentence}.`, { cause: error });
    throw new ApiError('invalid_request', `${sentence}.`, {
      details: { field: 'request', reason: 'refused' },
      cause: error,
    });
  }
}

/** For lists: where the page before has ended, and how many rows are read. */
export const PAGE = { cursor: Type.Optional(Type.String({ maxLength: 300 })) };
export const PAGE_ROWS = 50;

/** A page of rows and the cursor of the next one. */
export function pageOf<Row>(rows: Row[], cursorOf: (row: Row) => string) {
  const last = rows.at(-1);
  return { items: rows, next: last && rows.length === PAGE_ROWS ? cursorOf(last) : null };
}
