import type { FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../../accounts/client-network.ts';
import { SESSION_DAYS, type SignedInFrom } from '../../sign-in/sessions.ts';
import { readCookie, SESSION_COOKIE, setCookie } from '../cookies.ts';

/** Names that browsers have in common come last: Edge and Opera also say that they are Chrome. */
const BROWSERS: Array<[RegExp, string]> = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: Array<[RegExp, string]> = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Such as `Firefox on Linux`; null if neither is known. No text of the request is in it. */
export function browserName(userAgent = ''): string | null {
  const find = (names: Array<[RegExp, string]>) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = find(BROWSERS);
  const system = find(SYSTEMS);
  if (!browser && !system) return null;
  return system ? `${browser ?? 'A browser'} on ${system}` : (browser ?? null);
}

/** Where a sign-in comes from. The session that the browser had ends with it. */
export function signedInFrom(
  request: FastifyRequest,
  publicUrl: string,
): Omit<SignedInFrom, 'method'> {
  return {
    network: networkOf(request.ip),
    browser: browserName(request.headers['user-agent']),
    replaces: readCookie(request, publicUrl, SESSION_COOKIE),
  };
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
