import type { Readable } from 'node:stream';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, type TUndefined, Type } from 'typebox';
import type { RateLimit } from '../accounts/rate-window.ts';
import type { Database } from '../database/database.ts';
import { storable } from '../database/json-text.ts';
import { methodAndUrl, type RouteName } from '../requests/routes.ts';
import { type Act, requireFreshProof } from '../sign-in/proofs.ts';
import type { Session } from '../sign-in/sessions.ts';

/**
 * Who may use a route: everyone, signed-in people, or those whose address is in ADMIN_EMAILS.
 * Operators' routes are 404 for everyone else.
 */
type Access = 'public' | 'session' | 'operator';

export interface PageDeps {
  db: Database;
  /** The installation's base URL, without a trailing slash. */
  publicUrl(): string;
}

/** The sender of a request to a non-public route. */
export interface SignedIn extends Session {
  isOperator: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use this website route. The default is `session`. */
    access?: Access;
    /** The route's own limit per address or account, besides that of all routes together. */
    rate?: RateLimit | undefined;
    /** Whether all or some of the route's bodies need a fresh proof. */
    asksProof?: boolean;
  }
  interface FastifyRequest {
    /** Set by the website's guard before the body is read. */
    signedIn?: SignedIn;
  }
}

/** @throws Error if the route is public */
export function sessionOf({ signedIn }: Pick<FastifyRequest, 'signedIn'>): SignedIn {
  if (!signedIn) throw new Error('this route is public: it has no session');
  return signedIn;
}

/** Query member: whether a page shows live or test credits, tasks and keys. */
export const ModeSchema = Type.Enum(['live', 'test'], { default: 'live' });

/** The names of the parameters in a path. */
export type NamesIn<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? Name
    : never;

const ParameterSchema = Type.String({ maxLength: 120 });

function defaultParams(name: RouteName): TSchema {
  const names = [...name.matchAll(/:(\w+)/g)].map(([, one = '']) => [one, ParameterSchema]);
  return Type.Object(Object.fromEntries(names));
}

/** A handler's result as the page reads it: times become ISO 8601 texts. */
export type AsJson<Value> = Value extends Date
  ? string
  : Value extends ArrayBuffer | ArrayBufferView // in types from packages; never sent
    ? Value
    : Value extends object
      ? { [Name in keyof Value]: AsJson<Value[Name]> }
      : Value;

/** A handler's input: the validated parts of the request, and the request itself. */
interface Call<Body, Query, Params> {
  body: Body;
  query: Query;
  params: Params;
  /** The sender. @throws Error if the route is public */
  session: SignedIn;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** What a page sends and receives. Path parameters are part of the URL. */
export interface RouteShape {
  name: RouteName;
  /** undefined: no body. */
  body: unknown;
  query: unknown;
  /** undefined: not JSON, or empty. */
  result: unknown;
}

/** undefined if the handler sent the reply itself. */
type Sent<Result> = Result extends FastifyReply | Readable | undefined ? undefined : AsJson<Result>;

type ParamsOf<Name extends RouteName, Params extends TSchema> = Params extends TUndefined
  ? Record<NamesIn<Name>, string>
  : Static<Params>;

interface RouteOptions<
  Deps,
  Name extends RouteName,
  Body extends TSchema,
  Query extends TSchema,
  Params extends TSchema,
  Result,
> {
  access?: Access;
  rate?: RateLimit;
  /**
   * The act that needs a fresh proof (decisions/0038); a function decides by the body. The handler
   * mails the owner what was done (`tellOwner`).
   */
  proof?: Act | ((body: Static<Body>) => Act | undefined);
  /**
   * Unless a schema sets `additionalProperties`, it accepts no other properties. `query` values are
   * texts, except `limit`.
   */
  body?: Body;
  query?: Query;
  /** The path's parameters; by default texts of at most 120 characters. */
  params?: Params;
  /** Returns the JSON response, unless it used `reply`. */
  handle(
    deps: Deps,
    call: Call<Static<Body>, Static<Query>, ParamsOf<Name, Params>>,
  ): Promise<Result>;
}

export interface SiteRoute<Deps, Shape extends RouteShape> {
  serve(scope: FastifyInstance, deps: Deps): void;
  /** Never set: it carries the types to the list of all routes (site.ts). */
  readonly shape?: Shape;
}

export type ResultOf<Route extends { readonly shape?: RouteShape }> = NonNullable<
  Route['shape']
>['result'];

/** Defines a website route. The guard of site.ts checks access. */
export function siteRoute<
  Deps,
  Name extends RouteName,
  Result,
  Body extends TSchema = TUndefined,
  Query extends TSchema = TUndefined,
  Params extends TSchema = TUndefined,
>(
  name: Name,
  options: RouteOptions<Deps, Name, Body, Query, Params, Result>,
): SiteRoute<Deps, { name: Name; body: Static<Body>; query: Static<Query>; result: Sent<Result> }> {
  const { access = 'session', rate, proof, body, query, params, handle } = options;
  const config: FastifyContextConfig = { access, rate, asksProof: proof !== undefined };
  const schema = {
    ...(body && { body: strict(body) }),
    ...(query && { querystring: strict(query) }),
    params: params ?? defaultParams(name),
  };
  return {
    serve(scope, deps) {
      scope.route({
        ...methodAndUrl(name),
        config,
        schema,
        handler: async (request, reply) => {
          const { body: sent, query: asked, params: given } = request;
          const parts = { body: sent, query: storableTexts(asked), params: storableTexts(given) };
          // Validated by the schemas.
          const call = parts as Pick<
            Call<Static<Body>, Static<Query>, ParamsOf<Name, Params>>,
            'body' | 'query' | 'params'
          >;
          const act = typeof proof === 'function' ? proof(call.body) : proof;
          if (act) requireFreshProof(sessionOf(request), act);
          const whole = {
            ...call,
            request,
            reply,
            get session() {
              return sessionOf(request);
            },
          };
          return (await handle(deps, whole)) ?? reply;
        },
      });
    },
  };
}

/** Replaces the characters that Postgres refuses in the texts of a path or query. */
function storableTexts(given: unknown): object {
  const texts = Object.entries(Object(given)).map(([name, value]) => {
    return [name, typeof value === 'string' ? storable(value) : value];
  });
  return Object.fromEntries(texts);
}

function strict(schema: TSchema): object {
  return { additionalProperties: false, ...schema };
}

/** Includes invisible "letters", such as the Hangul filler, and blank braille. */
const INVISIBLE = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800`;
const ON_ONE_LINE = String.raw`[^\p{Cc}\p{Cs}]*`;

/** The schema of a name that a person chooses: one line, with a visible character. */
export function nameSchema(maxLength: number) {
  const pattern = `^${ON_ONE_LINE}[^${INVISIBLE}]${ON_ONE_LINE}$`;
  return Type.String({ minLength: 1, maxLength, pattern });
}
