import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rateKeyOf } from '../accounts/client-network.ts';
import {
  countRequest,
  createKeyedMutex,
  openRateMemory,
  type RateLimit,
} from '../accounts/rate-window.ts';
import type { Database } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { evictOldest } from '../kernel/evict-oldest.ts';
import { noSuchPath } from '../requests/errors.ts';
import { findSession, hashToken } from '../sign-in/sessions.ts';
import { readCookie, SESSION_COOKIE } from './auth/cookies.ts';
import type { PageDeps, SignedIn } from './route.ts';

export interface GuardDeps extends PageDeps {
  /** Operators' e-mail addresses, in lower case. */
  adminEmails: ReadonlySet<string>;
}

/** Per address: requests to public routes, and those with an unknown cookie to other routes. */
const REQUESTS_OF_ADDRESS: RateLimit = { max: 240, seconds: 60 };

/** How many valid sessions a process remembers. The oldest are evicted. */
const MAX_KNOWN = 50_000;

/**
 * Guards a scope's routes before the body is read: the origin of writes, access, and rates. The
 * limit is per address on public routes, else per account (by `findSession`); a route may add one
 * of its own. Requests over a limit are refused from memory (decisions/0016).
 */
export function guard(scope: FastifyInstance, deps: GuardDeps): void {
  const limits = openLimits(deps.db);
  const sessions = openSessions(deps, limits);
  scope.decorateRequest('signedIn');
  scope.addHook('onRequest', async (request) => {
    requireOwnOrigin(request, deps.publicUrl());
    const { access = 'session', rate } = request.routeOptions.config;
    if (access === 'public') return limits.countAddress(request, rate);
    const signedIn = await sessions.require(request);
    if (access === 'operator' && !signedIn.isOperator) throw noSuchPath();
    request.signedIn = signedIn;
    if (!rate) return;
    await limits.count(`${signedIn.accountId} ${routeOf(request)}`, rate);
  });
  // Otherwise a HEAD reads the whole file.
  scope.addHook('onSend', async ({ method }, _reply, payload) => {
    if (method === 'HEAD' && payload instanceof Readable) payload.destroy();
    return payload;
  });
}

type Limits = ReturnType<typeof openLimits>;

function openLimits(db: Database) {
  const { run: unlessFull } = openRateMemory();
  const count = (key: string, limit: RateLimit) =>
    unlessFull(key, () => countRequest(db, key, limit));
  return {
    unlessFull,
    count,
    async countAddress(request: FastifyRequest, rate?: RateLimit): Promise<void> {
      const key = rateKeyOf(request.ip);
      await count(key, REQUESTS_OF_ADDRESS);
      if (rate) await count(`${key} ${routeOf(request)}`, rate);
    },
  };
}

/** Routes of one URL have windows of their own; a HEAD counts as a GET. */
function routeOf({ method, routeOptions: { url } }: FastifyRequest): string {
  return `${method === 'HEAD' ? 'GET' : method} ${url}`;
}

/**
 * Looks up sessions. Look-ups of unknown cookies from one address run one at a time, so that
 * made-up cookies occupy at most one database connection.
 */
function openSessions({ db, publicUrl, adminEmails }: GuardDeps, limits: Limits) {
  const known = new Set<string>();
  const exclusively = createKeyedMutex();
  const find = async (token: string, id: string) => {
    const session = await limits.unlessFull(`session ${id}`, () => findSession(db, token));
    if (!session) known.delete(id);
    else if (!known.has(id)) {
      evictOldest(known, MAX_KNOWN);
      known.add(id);
    }
    return session;
  };
  return {
    /** @throws ApiError `unauthorized`, `rate_limited` */
    async require(request: FastifyRequest): Promise<SignedIn> {
      const token = readCookie(request, publicUrl(), SESSION_COOKIE);
      if (token === undefined) throw notSignedIn();
      const id = hashToken(token).toString('base64url');
      const lookUp = () => find(token, id);
      const isKnown = known.has(id);
      const session = await (isKnown ? lookUp() : exclusively(rateKeyOf(request.ip), lookUp));
      if (!session) {
        await limits.countAddress(request);
        throw notSignedIn();
      }
      return { ...session, isOperator: adminEmails.has(session.email.toLowerCase()) };
    },
  };
}

function notSignedIn(): ApiError {
  return new ApiError('unauthorized', 'Sign in to continue.');
}

/**
 * Refuses writes that another site's page made the browser send, by `Origin`, else by
 * `Sec-Fetch-Site`. Reads pass.
 */
function requireOwnOrigin(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  publicUrl: string,
): void {
  if (method === 'GET' || method === 'HEAD') return;
  const { origin } = new URL(publicUrl);
  const isOwn =
    headers.origin === undefined
      ? headers['sec-fetch-site'] === 'same-origin'
      : headers.origin === origin;
  if (isOwn) return;
  throw new ApiError('cross_site', `This request must come from a page of ${origin}.`);
}
