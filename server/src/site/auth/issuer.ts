import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Transaction } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { noSuchPath } from '../../requests/errors.ts';
import { EmailNotVerified, enterByIdentity } from '../../sign-in/issuers/identities.ts';
import {
  IdentityRefused,
  type Issuer,
  type IssuerName,
  START_SECONDS,
  storeStart,
  takeStart,
} from '../../sign-in/issuers/issuer.ts';
import { type PageDeps, siteRoute } from '../route.ts';
import { type AccountRequest, onReopened, tellOwner } from '../tell-owner.ts';
import { readCookie, setCookie, setSessionCookie, signedInFrom } from './cookies.ts';

export interface IssuerRouteDeps extends PageDeps {
  log: Log;
  issuers: ReadonlyMap<IssuerName, Issuer>;
  signupCredits: number;
}

/** Binds a sign-in with an issuer to the browser that began it. */
const START_COOKIE = 'framewright-start';
const ParamsSchema = Type.Object({ provider: Type.String({ maxLength: 20 }) });

/** Why a sign-in failed: `error` in the sign-in page's URL. */
type IssuerFailure = 'denied' | 'disabled' | 'expired' | 'failed' | 'unavailable' | 'unverified';

function issuerNamed(deps: IssuerRouteDeps, text: string): [IssuerName, Issuer] {
  const found = [...deps.issuers].find(([name]) => name === text);
  if (!found) throw noSuchPath();
  return found;
}

function redirectUri(publicUrl: string, name: IssuerName): string {
  return `${publicUrl}/auth/return/${name}`;
}

const getStart = siteRoute('GET /auth/start/:provider', {
  access: 'public',
  params: ParamsSchema,
  query: Type.Object({ next: Type.Optional(Type.String({ maxLength: 2000 })) }),
  handle: async (deps: IssuerRouteDeps, { params, query, request, reply }) => {
    const [name, issuer] = issuerNamed(deps, params.provider);
    const publicUrl = deps.publicUrl();
    const { token, start } = await storeStart(deps.db, name, nextPath(query.next));
    try {
      const signInStart = { ...start, redirectUri: redirectUri(publicUrl, name) };
      const url = await issuer.authorizationUrl(signInStart);
      const cookie = { name: START_COOKIE, value: token, seconds: START_SECONDS };
      setCookie(reply, publicUrl, cookie).redirect(url);
    } catch (error) {
      giveUp(deps, { request, reply }, { error, name, next: start.next });
    }
  },
});

/** Handles the issuer's redirect back; issuers add query parameters of their own. */
const getReturn = siteRoute('GET /auth/return/:provider', {
  access: 'public',
  params: ParamsSchema,
  query: Type.Object({}, { additionalProperties: true }),
  handle: async (deps: IssuerRouteDeps, { params, request, reply }) => {
    const [name, issuer] = issuerNamed(deps, params.provider);
    const publicUrl = deps.publicUrl();
    const cookie = readCookie(request, publicUrl, START_COOKIE);
    const start = cookie === undefined ? undefined : await takeStart(deps.db, name, cookie);
    if (!start) return void reply.redirect(signInPage('expired', '/'));
    try {
      const parameters = new URL(request.url, publicUrl).searchParams;
      const signInStart = { ...start, redirectUri: redirectUri(publicUrl, name) };
      const identity = await issuer.identify(parameters, signInStart);
      const from = { ...signedInFrom(request, publicUrl), method: name };
      const confirmed = { ...identity, issuer: issuer.identifier };
      const accountRequest = { ...deps, request };
      const mails = { onReopened: onReopened(accountRequest), onLinked: onLinked(accountRequest) };
      const { token, reopened } = await enterByIdentity({ ...deps, ...mails }, confirmed, from);
      setSessionCookie(reply, publicUrl, token);
      reply.redirect(reopened ? '/settings?reopened=yes' : start.next);
    } catch (error) {
      giveUp(deps, { request, reply }, { error, name, next: start.next });
    }
  },
});

/** Mails the owner of an existing account that another way to sign in was linked to it. */
function onLinked(accountRequest: AccountRequest) {
  const what = 'An account of another service now signs in to your account';
  const more = '\nIt has your e-mail address there, and that service has verified it.\n';
  return (tx: Transaction, accountId: string) =>
    tellOwner(tx, accountRequest, { accountId, what, more });
}

function signInPage(failure: IssuerFailure, next: string): string {
  return `/sign-in?${new URLSearchParams({ error: failure, ...(next !== '/' && { next }) })}`;
}

/** Redirects to the sign-in page, since a browser would show the error envelope as JSON. */
function giveUp(
  { log }: IssuerRouteDeps,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { error, name, next }: { error: unknown; name: IssuerName; next: string },
): void {
  const failure = failureOf(error);
  if (failure === 'failed' || failure === 'unavailable') {
    const line = { request: request.id, issuer: name, err: error };
    log.warn(line, 'sign-in with an identity issuer failed');
  }
  reply.redirect(signInPage(failure, next));
}

function failureOf(error: unknown): IssuerFailure {
  if (error instanceof EmailNotVerified) return 'unverified';
  if (error instanceof IdentityRefused) return error.isDenied ? 'denied' : 'failed';
  if (error instanceof ApiError && error.code === 'account_disabled') return 'disabled';
  return 'unavailable';
}

/**
 * The page after the sign-in: always a path of this website. The text is parsed as a browser would,
 * so that it can't lead to another site.
 */
export function nextPath(asked: string | undefined): string {
  const base = 'http://own.invalid';
  const url = asked?.startsWith('/') ? URL.parse(asked, base) : null;
  if (url?.origin !== base || url.username !== '') return '/';
  const path = url.pathname + url.search + url.hash;
  // The path of /.//other.example is //other.example, which would lead to that host.
  return path.startsWith('//') || /^\/auth(\/|$)/.test(path) ? '/' : path;
}

export const ISSUER_ROUTES = [getStart, getReturn];
