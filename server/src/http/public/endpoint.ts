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
 * An operation of the public API, listed in `ENDPOINTS` of public-api.ts. That plugin authenticates
 * and rate-limits its requests; {@link callerOf} returns the caller.
 */
export interface Endpoint<Deps> {
  readonly description: ReturnType<typeof methodAndUrl> & { schema: FastifySchema };
  serve(api: FastifyInstance, deps: Deps): void;
}

type Served<Route extends RouteGenericInterface> = Omit<
  RouteOptions<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, Route>,
  'method' | 'url' | 'schema'
>;

/** Builds an operation from its part of openapi.json and its route. */
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

export function idInPath(title: string, description: string) {
  return Type.Object({ id: Type.String({ title, maxLength: ID_CHARACTERS, description }) });
}

/** The type of all public API routes, with any path parameters. */
export interface PublicRoute {
  Params: Record<string, string | undefined>;
}
export type PublicRequest = FastifyRequest<PublicRoute>;

/** See `openAdmission`. @throws ApiError `unauthorized`, `rate_limited` */
export type Admit = (request: PublicRequest, surface: string) => Promise<Caller>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Admits this route's requests. The default only admits; {@link fusedRead} reads a row too. */
    admit?: Admit;
    /** Whether this public API route needs no API key and has no rate limit. */
    isPublic?: boolean;
  }
  interface FastifyRequest {
    /** Set by the public API plugin before the body is read. */
    caller?: Caller;
  }
}

export function callerOf({ caller }: Pick<FastifyRequest, 'caller'>): Caller {
  if (!caller) throw new Error('this route is not in the public API');
  return caller;
}

/**
 * Admits requests and reads a row for each, in one micro-batched statement (decisions/0007), which
 * saves one of the two round trips to the database.
 * @param name of the prepared statement, unique in the program
 * @param read the SQL; `argumentOf` returns the request's `argument` for it
 */
export function fusedRead<Row extends object>(
  gate: KeyGate,
  name: string,
  read: CallerRead & { argumentOf?: (request: PublicRequest) => string },
) {
  const admit = openAdmission<Row>(gate, name, read);
  const rows = new WeakMap<object, Row>();
  return {
    /** For the route's `config`. */
    async admit(request: PublicRequest, surface: string): Promise<Caller> {
      const { authorization } = request.headers;
      const argument = read.argumentOf?.(request) ?? '';
      const { caller, row } = await admit({ authorization, surface, argument });
      rows.set(request, row);
      return caller;
    },
    /** The row read while admitting this request. */
    rowOf(request: object): Row {
      const row = rows.get(request);
      if (!row) throw new Error('this read is not in the config of the route');
      return row;
    },
  };
}
