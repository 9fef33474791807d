import type { NamesIn } from '../../server/src/site/route.ts';
import type { SiteApi } from '../../server/src/site/site.ts';

/** A route of the website's API, such as `PATCH /console/api/keys/:id`. */
export type Route = keyof SiteApi;

/** What a route takes. */
export type Body<Name extends Route> = SiteApi[Name]['body'];

/** What a route gives. */
export type Result<Name extends Route> = SiteApi[Name]['result'];

/** One entry of a list that a route gives. */
export type Item<Name extends Route> = Result<Name> extends { items: (infer One)[] } ? One : never;

/** A path that can be read. */
export type ReadPath = { [Name in Route]: Name extends `GET ${infer Path}` ? Path : never }[Route];

type Params<Path extends string> = [NamesIn<Path>] extends [never]
  ? { params?: undefined }
  : { params: Record<NamesIn<Path>, string> };

/** Which side of the account a page shows: the paid one, or the one of test credits. */
export type Mode = SiteApi['GET /console/api/me']['query']['mode'];

type Texts<Shape> = { [Name in Exclude<keyof Shape, 'mode'>]?: string | undefined };

/**
 * Values come from addresses and forms as strings, which the server checks. Where a route has a
 * mode, it must be given, since the server defaults to live.
 */
type Query<Shape> = 'mode' extends keyof Shape
  ? { query: Texts<Shape> & { mode: Mode } }
  : Shape extends object
    ? { query?: Texts<Shape> }
    : { query?: undefined };

type WithBody<Shape> = [Shape] extends [undefined] ? { body?: undefined } : { body: Shape };

/** What the address of a request needs. */
type Asked<Name extends Route> = Params<Name> & Query<SiteApi[Name]['query']>;

type Sent<Name extends Route> = Asked<Name> &
  WithBody<Body<Name>> &
  Pick<Given, 'headers' | 'signal'>;

type Optional<Part> = Record<never, never> extends Part ? [given?: Part] : [given: Part];

/** What the address of a path needs. */
export type AddressParts<Path extends ReadPath> = Optional<Asked<`GET ${Path}`>>;

/** What a request of a route needs. */
export type RequestParts<Name extends Route> = Optional<Sent<Name>>;

/** The parts of a request of any route. */
export interface Given {
  /** What the path names, such as `id` of `/console/api/keys/:id`. */
  params?: Record<string, string> | undefined;
  /** Empty texts are left out. */
  query?: Record<string, string | undefined> | undefined;
  /** Sent as JSON; a Blob is sent as it is, with its own type. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The address of what a path names. */
export function addressOf<Path extends ReadPath>(path: Path, ...given: AddressParts<Path>): string;
export function addressOf(path: string, given?: Given): string {
  return filled(path, given);
}

/** Like {@link addressOf}, for any path. */
export function filled(path: string, { params = {}, query = {} }: Given = {}): string {
  const named = path.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(params[name] ?? ''));
  const texts = Object.entries(query).flatMap(([name, text]) => (text ? [[name, text]] : []));
  return texts.length === 0 ? named : `${named}?${new URLSearchParams(texts)}`;
}
