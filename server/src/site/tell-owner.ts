import type { FastifyRequest } from 'fastify';
import { networkOf } from '../accounts/client-network.ts';
import type { Transaction } from '../database/database.ts';
import { mailOwner } from '../mail/outbox.ts';
import { describePlace, type Place } from '../sign-in/proofs.ts';
import { browserName } from './auth/browser-name.ts';

/** Where a request comes from. */
export function placeOf({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): Place {
  return { network: networkOf(ip), browser: browserName(headers['user-agent']) };
}

/** A time as mails name it, such as `2026-11-22 16:40 UTC`. */
export function mailTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The request that did something in an account. */
export interface Doing {
  request: Pick<FastifyRequest, 'ip' | 'headers'>;
  publicUrl(): string;
}

/**
 * Mails the owner of an account what was done in it, so that they notice a thief. No text of the
 * request is in it: a thief could write it.
 * @param tx the transaction that does it
 * @param done.what a sentence without its full stop; it is also the subject of the mail
 * @param done.more what else the owner should know
 */
export function tellOwner(
  tx: Transaction,
  { request, publicUrl }: Doing,
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
