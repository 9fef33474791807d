// Types of the website's routes, derived from the server's `SiteApi`: what a page must send to a
// route, and what it gets.

import type { NamesIn } from '../../server/src/site/route.ts';
import type { SiteApi } from '../../server/src/site/site.ts';

export type Route = keyof SiteApi;

export type Body<Name extends Route> = SiteApi[Name]['body'];

export type Result<Name extends Route> = SiteApi[Name]['result'];

export type Item<Name extends Route> = Result<Name> extends { items: (infer One)[] } ? One : never;

export type ReadPath = { [Name in Route]: Name extends `GET ${infer Path}` ? Path : never }[Route];

type Params<Path extends string> = [NamesIn<Path>] extends [never]
  ? { params?: undefined }
  : { params: Record<NamesIn<Path>, string> };

/** Whether a page shows the account's live or its test keys, tasks and credits. */
export type Mode = SiteApi['GET /console/api/me']['query']['mode'];

type Texts<Shape> = { [Name in Exclude<keyof Shape, 'mode'>]?: string | undefined };

/** The server validates the strings. A mode must be given, since the server defaults to live. */
type Query<Shape> = 'mode' extends keyof Shape
  ? { query: Texts<Shape> & { mode: Mode } }
  : Shape extends object
    ? { query?: Texts<Shape> }
    : { query?: undefined };

type WithBody<Shape> = [Shape] extends [undefined] ? { body?: undefined } : { body: Shape };

type Asked<Name extends Route> = Params<Name> & Query<SiteApi[Name]['query']>;

type Sent<Name extends Route> = Asked<Name> &
  WithBody<Body<Name>> &
  Pick<Given, 'headers' | 'signal'>;

type Optional<Part> = Record<never, never> extends Part ? [given?: Part] : [given: Part];

export type AddressParts<Path extends ReadPath> = Optional<Asked<`GET ${Path}`>>;

export type RequestParts<Name extends Route> = Optional<Sent<Name>>;

export interface Given {
  /** The path's parameters, such as `id` of `/console/api/keys/:id`. */
  params?: Record<string, string> | undefined;
  /** Empty texts are left out. */
  query?: Record<string, string | undefined> | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export function addressOf<Path extends ReadPath>(path: Path, ...given: AddressParts<Path>): string;
export function addressOf(path: string, given?: Given): string {
  return fillPath(path, given);
}

export function fillPath(path: string, { params = {}, query = {} }: Given = {}): string {
  const named = path.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(params[name] ?? ''));
  const texts = Object.entries(query).flatMap(([name, text]) => (text ? [[name, text]] : []));
  return texts.length === 0 ? named : `${named}?${new URLSearchParams(texts)}`;
}
