import type { FastifyRequest } from 'fastify';
import { networkOf } from '../accounts/client-network.ts';
import type { SendMail } from '../mail/mailer.ts';
import { describePlace, type Place } from '../sign-in/proofs.ts';
import { browserName } from './auth/browser-name.ts';

export interface TellOwnerDeps {
  sendMail: SendMail;
  publicUrl(): string;
}

/** Where a request comes from. */
export function placeOf({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): Place {
  return { network: networkOf(ip), browser: browserName(headers['user-agent']) };
}

/** A time as mails name it, such as `2026-11-22 16:40 UTC`. */
export function mailTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/**
 * Mails the owner of an account what was done in it, so that they notice a thief. No text of the
 * request is in it: a thief could write it. The mail may be lost.
 * @param done.what a sentence without its full stop; it is also the subject of the mail
 * @param done.more what else the owner should know
 */
export function tellOwner(
  { sendMail, publicUrl }: TellOwnerDeps,
  request: Pick<FastifyRequest, 'ip' | 'headers'>,
  done: { email: string; what: string; more?: string },
): void {
  const { email, what, more = '' } = done;
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
  void sendMail({ to: email, subject: what, text });
}
