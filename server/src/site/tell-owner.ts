import type { FastifyRequest } from 'fastify';
import { networkOf } from '../accounts/client-network.ts';
import { wakePayments } from '../billing/payment-pages.ts';
import type { Transaction } from '../database/database.ts';
import { mailOwner } from '../mail/outbox.ts';
import { recordAction } from '../operator/actions.ts';
import type { Entered, OnReopened } from '../sign-in/enter.ts';
import { describePlace, type Place } from '../sign-in/proofs.ts';

/** Specific browsers first: Edge and Opera also claim to be Chrome. */
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

/** Such as `Firefox on Linux`; null if neither is known. Never quotes the header itself. */
export function browserName(userAgent = ''): string | null {
  const find = (names: Array<[RegExp, string]>) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = find(BROWSERS);
  const system = find(SYSTEMS);
  if (!browser && !system) return null;
  return system ? `${browser ?? 'A browser'} on ${system}` : (browser ?? null);
}

export function placeOf({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): Place {
  return { network: networkOf(ip), browser: browserName(headers['user-agent']) };
}

/** A time as written in mails, such as `2026-11-22 16:40 UTC`. */
export function mailTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** A request to change an account, and where the service is reached. */
export interface AccountRequest {
  request: Pick<FastifyRequest, 'ip' | 'headers'>;
  publicUrl(): string;
}

/**
 * Mails the owner what was done in their account, so that they notice a thief. The mail quotes no
 * text from the request: a thief could have written it.
 * @param done.what a sentence without its full stop; also the mail's subject
 * @param done.more a further paragraph
 */
export function tellOwner(
  tx: Transaction,
  { request, publicUrl }: AccountRequest,
  done: { accountId: string; what: string; more?: string },
): Promise<void> {
  const { accountId, what, more = '' } = done;
  const text = `${what}.

When: ${mailTime(new Date())}
From: ${describePlace(placeOf(request))}
${more}
If it was you, there is nothing to do.

If it was not you, somebody else is signed in to your account. Do this now:

1. Sign in, end the sessions that you do not know, and remove the passkeys that you do not know:
   ${publicUrl()}/settings
2. Revoke the API keys that you do not know: ${publicUrl()}/keys
3. Check auto-reload: ${publicUrl()}/credits
`;
  return mailOwner(tx, { accountId, subject: what, text });
}

const REOPEN = { command: 'account reopen', actor: 'its owner', reason: null };

/** Records that a sign-in has reopened an account. A worker resumes its plan. */
export function onReopened(request: AccountRequest): OnReopened {
  return async (tx, accountId) => {
    await recordAction(tx, REOPEN, { target: accountId });
    await wakePayments(tx, accountId);
    const what = 'Your account is open again and will not be deleted';
    await tellOwner(tx, request, { accountId, what });
  };
}

/** Whether a sign-in reopened a closed account. */
export type SignInResult = Pick<Entered, 'reopened'>;
