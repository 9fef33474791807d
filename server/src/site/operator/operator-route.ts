import { type Static, type TObject, type TProperties, Type } from 'typebox';
import type { BrandDeps } from '../../brand/brand.ts';
import type { Database } from '../../database/database.ts';
import { ApiError, invalidRequest, Refusal, UsageError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Overview } from '../../operator/overview.ts';
import type { SetUp } from '../../operator/set-up/set-up.ts';
import type { Links } from '../../storage/links.ts';
import { siteRoute } from '../route.ts';

export interface OperatorDeps extends BrandDeps {
  db: Database;
  log: Log;
  links: Links;
  overview: Overview;
  openSetUp(): Promise<SetUp>;
  /** When the certificate that signs Content Credentials expires. */
  certificateEnd?: Date | undefined;
  /** The connection that PROVIDER names: it gets the tasks of models without a route. */
  providerName: string;
  /** This process's configured connections, by name. */
  providers: { has(name: string): boolean };
}

export const PREFIX = '/console/api/operator';
const ParamsSchema = Type.Object({ id: Type.Optional(Type.String()) });

/** GET for operators only; everyone else gets 404. Without an id in its path, `id` is empty. */
export function operatorRead<Url extends `/${string}`, Query extends TProperties, Result>(
  url: Url,
  query: Query,
  read: (
    deps: OperatorDeps,
    asked: { query: Static<TObject<Query>>; id: string },
  ) => Promise<Result>,
) {
  return siteRoute(`GET ${PREFIX}${url}`, {
    access: 'operator',
    query: Type.Object(query),
    params: ParamsSchema,
    handle: (deps: OperatorDeps, { query: asked, params: { id = '' } }) => {
      const work = () => read(deps, { query: asked as Static<TObject<Query>>, id });
      return withApiErrors(work, url.includes('/:id'));
    },
  });
}

/** Turns a UsageError into an `invalid_request`, or for a read of one item into a `not_found`. */
export async function withApiErrors<Result>(
  work: () => Promise<Result>,
  isItemRead: boolean,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const isRefusal = error instanceof Refusal;
    const text = isRefusal ? error.wording((field) => field.replaceAll('_', ' ')) : error.message;
    const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    if (isItemRead && !isRefusal) {
      throw new ApiError('not_found', sentence, { cause: error });
    }
    const details = { field: isRefusal ? error.field : 'request', reason: 'refused' };
    throw invalidRequest(sentence, details, error);
  }
}

export const PAGE_ROWS = 50;

export function pageOf<Row>(rows: Row[], cursorOf: (row: Row) => string | undefined) {
  const last = rows.at(-1);
  return { items: rows, next: last && rows.length === PAGE_ROWS ? (cursorOf(last) ?? null) : null };
}
