import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteOptions,
} from 'fastify';
import { Type } from 'typebox';
import { type Caller, type CallerRead, openAdmission } from '../../accounts/admission.ts';
import type { KeyGate } from '../../accounts/key-gate.ts';
import { methodAndUrl, type RouteName } from '../../requests/routes.ts';

/**
 * An operation of the public API, in the list `ENDPOINTS` of public-api.ts. The plugin there
 * authenticates the requests and limits their rate; {@link callerOf} returns the caller.
 */
export interface Endpoint<Deps> {
  /** The operation's part of openapi.json. */
  readonly description: ReturnType<typeof methodAndUrl> & { schema: FastifySchema };
  /** Registers the route. */
  serve(api: FastifyInstance, deps: Deps): void;
}

/** A route without its description. */
type Served<Route extends RouteGenericInterface> = Omit<
  RouteOptions<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, Route>,
  'method' | 'url' | 'schema'
>;

/**
 * Makes an operation of its part of openapi.json and the route.
 * @param name without the prefix, such as `GET /tasks/:id`
 */
export function endpoint<Deps, Route extends RouteGenericInterface = PublicRoute>(
  name: RouteName,
  { serve, ...schema }: FastifySchema & { serve(deps: Deps): Served<Route> },
): Endpoint<Deps> {
  const description = { ...methodAndUrl(name), schema };
  return {
    description,
    serve: (api, deps) => api.route<Route>({ ...description, ...serve(deps) }),
  };
}

/** The longest id in a path (contract, "Limits"). */
export const ID_CHARACTERS = 120;

/** The parameters of a path with an `id`. */
export function idInPath(title: string, description: string) {
  return Type.Object({ id: Type.String({ title, maxLength: ID_CHARACTERS, description }) });
}

/** The type of all routes of the public API: the path may have any parameters. */
export interface PublicRoute {
  Params: Record<string, string | undefined>;
}
export type PublicRequest = FastifyRequest<PublicRoute>;

/**
 * Authenticates a request and counts it in the rate window of its API key.
 * @throws ApiError `unauthorized`, `rate_limited`
 */
export type Admit = (request: PublicRequest, surface: string) => Promise<Caller>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Admits the requests of this route. The default only admits, and reads no row. */
    admit?: Admit;
    /** Whether this route of the public API needs no API key, and has no rate limit. */
    isPublic?: boolean;
  }
  interface FastifyRequest {
    /** Set by the public API before the body is read. */
    caller?: Caller;
  }
}

/** The caller of an admitted request. */
export function callerOf({ caller }: Pick<FastifyRequest, 'caller'>): Caller {
  if (!caller) throw new Error('this route is not in the public API');
  return caller;
}

/** An admission that also reads a row for the route. */
export interface FusedRead<Row> {
  /** Belongs into the route's `config`. */
  admit: Admit;
  /** The row that was read for an admitted request. */
  rowOf(request: object): Row;
}

/**
 * Admits requests and reads a row for each, in one statement for all requests that arrive together
 * (decisions/0007). A route without it makes two round trips to the database: one for the
 * admission, one for its read.
 * @param name of the statement, unique in the program
 * @param read the SQL; `argumentOf` returns the request's `argument` for this SQL
 */
export function fusedRead<Row extends object>(
  gate: KeyGate,
  name: string,
  read: CallerRead & { argumentOf?: (request: PublicRequest) => string },
): FusedRead<Row> {
  const admit = openAdmission<Row>(gate, name, read);
  const rows = new WeakMap<object, Row>();
  return {
    async admit(request, surface) {
      const { authorization } = request.headers;
      const argument = read.argumentOf?.(request) ?? '';
      const { caller, row } = await admit({ authorization, surface, argument });
      rows.set(request, row);
      return caller;
    },
    rowOf(request) {
      const row = rows.get(request);
      if (!row) throw new Error('this read is not in the config of the route');
      return row;
    },
  };
}
