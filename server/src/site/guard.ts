import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rateKeyOf } from '../accounts/client-network.ts';
import { countRequest, type RateLimit } from '../accounts/rate-window.ts';
import type { Database } from '../database/database.ts';
import { noSuchPath } from '../http/errors.ts';
import { ApiError } from '../kernel/errors.ts';
import { findSession } from '../sign-in/sessions.ts';
import { readCookie, SESSION_COOKIE } from './cookies.ts';
import { requireOwnOrigin } from './origin.ts';
import type { SignedIn } from './route.ts';

export interface GuardDeps {
  db: Database;
  /** The address of this installation, without a slash at its end. */
  publicUrl(): string;
  /** The e-mail addresses of operators, in lower case. */
  adminEmails: ReadonlySet<string>;
}

/** The requests of one address on public routes, and those with a cookie that means nothing. */
const REQUESTS_OF_ADDRESS: RateLimit = { max: 240, seconds: 60 };

/**
 * Guards all routes of a scope before a body is read: a write must come from a page of this
 * website, the sender must have the route's access, and the rates are limited. Public routes are
 * counted for each address, all others for each account. A route may have a limit of its own
 * beside these.
 */
export function guard(scope: FastifyInstance, deps: GuardDeps): void {
  scope.decorateRequest('signedIn');
  scope.addHook('onRequest', async (request) => {
    requireOwnOrigin(request, deps.publicUrl());
    const { access = 'session', rate } = request.routeOptions.config;
    if (access === 'public') return countAddress(deps, request, rate);
    const signedIn = await requireSession(deps, request);
    if (access === 'operator' && !signedIn.isOperator) throw noSuchPath();
    request.signedIn = signedIn;
    if (!rate) return;
    await countRequest(deps.db, `${signedIn.accountId} ${request.routeOptions.url}`, rate);
  });
}

async function countAddress(
  { db }: GuardDeps,
  { ip, routeOptions }: FastifyRequest,
  rate: RateLimit | undefined,
): Promise<void> {
  const key = rateKeyOf(ip);
  await countRequest(db, key, REQUESTS_OF_ADDRESS);
  if (rate) await countRequest(db, `${key} ${routeOptions.url}`, rate);
}

/** @throws ApiError `unauthorized`, `rate_limited` */
async function requireSession(deps: GuardDeps, request: FastifyRequest): Promise<SignedIn> {
  const token = readCookie(request, deps.publicUrl(), SESSION_COOKIE);
  if (token === undefined) throw notSignedIn();
  const session = await findSession(deps.db, token);
  if (!session) {
    await countRequest(deps.db, rateKeyOf(request.ip), REQUESTS_OF_ADDRESS);
    throw notSignedIn();
  }
  return { ...session, isOperator: deps.adminEmails.has(session.email.toLowerCase()) };
}

function notSignedIn(): ApiError {
  return new ApiError('unauthorized', 'Sign in to continue.');
}
