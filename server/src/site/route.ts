import type { Readable } from 'node:stream';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, type TUndefined, Type } from 'typebox';
import type { RateLimit } from '../accounts/rate-window.ts';
import { storable } from '../database/json-text.ts';
import { methodAndUrl, type RouteName } from '../requests/routes.ts';
import { type Act, requireFreshProof } from '../sign-in/proofs.ts';
import type { Session } from '../sign-in/sessions.ts';

/**
 * Who may use a route: everybody, who is signed in, or who is signed in with an address of
 * ADMIN_EMAILS. To all others a route for operators does not exist.
 */
type Access = 'public' | 'session' | 'operator';

/** Who sent a request of a route that is not public. */
export interface SignedIn extends Session {
  isOperator: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of a route of the website. The default is `session`. */
    access?: Access;
    /** A limit of its own for each address or account, beside the one for all routes. */
    rate?: RateLimit | undefined;
    /** Whether the route, or some bodies of it, need a fresh proof. */
    asksProof?: boolean;
  }
  interface FastifyRequest {
    /** Set by the guard of the website before the body is read. */
    signedIn?: SignedIn;
  }
}

/**
 * Who sent a request.
 * @throws Error if the route is public
 */
export function sessionOf({ signedIn }: Pick<FastifyRequest, 'signedIn'>): SignedIn {
  if (!signedIn) throw new Error('nobody is known to be signed in on this route');
  return signedIn;
}

/**
 * Of a query: which side of the account a page shows, and whose credits it spends: `live`, or
 * `test` with test credits. Without one, it is live.
 */
export const ModeSchema = Type.Enum(['live', 'test'], { default: 'live' });

/** The names in a path, such as `id` in `/console/api/keys/:id`. */
export type NamesIn<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? Name
    : never;

const NamedSchema = Type.String({ maxLength: 120 });

/** Of a path: its names, each with a short text. */
function namedIn(name: RouteName): TSchema {
  const names = [...name.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, NamedSchema]);
  return Type.Object(Object.fromEntries(names));
}

/** What a page reads of a value that a handler returns: times become texts in ISO 8601. */
export type AsJson<Value> = Value extends Date
  ? string
  : Value extends ArrayBuffer | ArrayBufferView // in types of packages: nothing sends bytes so
    ? Value
    : Value extends object
      ? { [Name in keyof Value]: AsJson<Value[Name]> }
      : Value;

/** What a handler gets: the checked parts of the request, and the request itself. */
interface Call<Body, Query, Params> {
  body: Body;
  query: Query;
  params: Params;
  /** Who sent it. @throws Error if the route is public */
  session: SignedIn;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** What a page sends to a route and gets from it, as JSON. What the path names is in its text. */
export interface RouteShape {
  name: RouteName;
  /** undefined: it takes none. */
  body: unknown;
  query: unknown;
  /** undefined: it is no JSON, or nothing. */
  result: unknown;
}

/** The result of a handler as a page gets it: what it has sent by itself is no JSON. */
type Sent<Result> = Result extends FastifyReply | Readable | undefined ? undefined : AsJson<Result>;

type Named<Name extends RouteName, Params extends TSchema> = Params extends TUndefined
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
   * The act that needs a fresh proof: the person has signed in, or has proved it again, in the last
   * few minutes. A function says whether a body is such an act. The route mails its owner what was
   * done (`tellOwner`), unless nothing is done here.
   */
  proof?: Act | ((body: Static<Body>) => Act | undefined);
  /** Objects without `additionalProperties` take no others. Values of `query` are texts, except
   * `limit`. */
  body?: Body;
  query?: Query;
  /** Of what the path names; texts of at most 120 characters, if not given. */
  params?: Params;
  /** Its result is sent as JSON, unless it has used `reply`. */
  handle(deps: Deps, call: Call<Static<Body>, Static<Query>, Named<Name, Params>>): Promise<Result>;
}

/** A route of the website: it has its own file, and an entry in the list of site.ts. */
export interface SiteRoute<Deps, Shape extends RouteShape> {
  serve(scope: FastifyInstance, deps: Deps): void;
  /** Never set: it takes the shapes to the type of all routes (site.ts). */
  readonly shape?: Shape;
}

/** What a page gets from a route. */
export type ResultOf<Route extends { readonly shape?: RouteShape }> = NonNullable<
  Route['shape']
>['result'];

/**
 * Makes a route of the website. The guard of site.ts checks who may use it.
 * @param name as the pages call it
 */
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
    ...(body && { body: closed(body) }),
    ...(query && { querystring: closed(query) }),
    params: params ?? namedIn(name),
  };
  return {
    serve(scope, deps) {
      scope.route({
        ...methodAndUrl(name),
        config,
        schema,
        handler: async (request, reply) => {
          const { body: sent, query: asked, params: named } = request;
          const parts = { body: sent, query: storableTexts(asked), params: storableTexts(named) };
          // The schemas have checked them.
          const call = parts as Pick<
            Call<Static<Body>, Static<Query>, Named<Name, Params>>,
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

/** The texts of a path or a query, without the characters that Postgres refuses. */
function storableTexts(given: unknown): object {
  const texts = Object.entries(Object(given)).map(([name, value]) => {
    return [name, typeof value === 'string' ? storable(value) : value];
  });
  return Object.fromEntries(texts);
}

function closed(schema: TSchema): object {
  return { additionalProperties: false, ...schema };
}

/** Also what is a letter by its category, such as the filler of Hangul, and blank braille. */
const INVISIBLE = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800`;
const ON_ONE_LINE = String.raw`[^\p{Cc}\p{Cs}]*`;

/** A name that a person gives to something of theirs: on one line, with a visible character. */
export function nameSchema(maxLength: number) {
  const pattern = `^${ON_ONE_LINE}[^${INVISIBLE}]${ON_ONE_LINE}$`;
  return Type.String({ minLength: 1, maxLength, pattern });
}
