import type { FastifyReply, FastifyRequest } from 'fastify';
import { SESSION_DAYS, type SignedInFrom } from '../../sign-in/sessions.ts';
import { readCookie, SESSION_COOKIE, setCookie } from '../cookies.ts';
import { placeOf } from '../tell-owner.ts';

/** Where a sign-in comes from. The session that the browser had ends with it. */
export function signedInFrom(
  request: FastifyRequest,
  publicUrl: string,
): Omit<SignedInFrom, 'method'> {
  return { ...placeOf(request), replaces: readCookie(request, publicUrl, SESSION_COOKIE) };
}

/** Gives the browser the cookie of a new session. */
export function giveSession(reply: FastifyReply, publicUrl: string, token: string): void {
  const cookie = { name: SESSION_COOKIE, value: token, seconds: SESSION_DAYS * 86_400 };
  reply.header('set-cookie', setCookie(publicUrl, cookie));
}

/** Makes the browser forget the cookie of its session. */
export function takeSession(reply: FastifyReply, publicUrl: string): void {
  reply.header('set-cookie', setCookie(publicUrl, { name: SESSION_COOKIE, value: '', seconds: 0 }));
}
