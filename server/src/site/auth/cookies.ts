import type { FastifyReply, FastifyRequest } from 'fastify';
import { SESSION_DAYS, type SignedInFrom } from '../../sign-in/sessions.ts';
import { placeOf } from '../tell-owner.ts';

/** Over https the `__Host-` prefix binds the cookie to this host: no subdomain can set it. */
function nameOn(publicUrl: string, name: string): string {
  return publicUrl.startsWith('https:') ? `__Host-${name}` : name;
}

/**
 * Sets a cookie that scripts can't read. From pages of other sites, browsers send it only with a
 * link that is followed.
 * @param cookie.seconds 0 deletes it
 */
export function setCookie(
  reply: FastifyReply,
  publicUrl: string,
  { name, value, seconds }: { name: string; value: string; seconds: number },
): FastifyReply {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  const named = `${nameOn(publicUrl, name)}=${value}`;
  const cookie = `${named}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
  return reply.header('set-cookie', cookie);
}

export function readCookie(
  { headers }: Pick<FastifyRequest, 'headers'>,
  publicUrl: string,
  name: string,
): string | undefined {
  const start = `${nameOn(publicUrl, name)}=`;
  const pairs = headers.cookie?.split(/; */) ?? [];
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length);
}

export const SESSION_COOKIE = 'framewright';

/** Where a sign-in comes from, and the browser's previous session, which the new one replaces. */
export function signedInFrom(
  request: FastifyRequest,
  publicUrl: string,
): Omit<SignedInFrom, 'method'> {
  return { ...placeOf(request), replaces: readCookie(request, publicUrl, SESSION_COOKIE) };
}

export function setSessionCookie(reply: FastifyReply, publicUrl: string, token: string): void {
  const seconds = SESSION_DAYS * 86_400;
  setCookie(reply, publicUrl, { name: SESSION_COOKIE, value: token, seconds });
}

export function clearSessionCookie(reply: FastifyReply, publicUrl: string): void {
  setCookie(reply, publicUrl, { name: SESSION_COOKIE, value: '', seconds: 0 });
}
