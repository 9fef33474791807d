import type { Database } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import type { SendMail } from '../mail/mailer.ts';
import { checkPasskey, passkeyFailed, usePasskey } from './check-passkey.ts';
import { CODE_MINUTES, makeCode, PROOF_CODES, tryCode, useCode } from './codes.ts';
import { PROOF_MINUTES, recordProof, type Session } from './sessions.ts';

/** What needs a fresh proof: a stolen session must not be enough. */
export const ACTS = {
  passkey: 'add a passkey',
  api_key: 'create an API key',
  api_key_cap: 'change the monthly cap or the expiry of an API key',
  webhook: 'create a webhook endpoint',
  webhook_secret: 'replace the secret of a webhook endpoint',
  auto_reload: 'set up auto-reload',
  plan: 'manage your plan and your card',
  deletion: 'delete the account',
} as const;

export type Act = keyof typeof ACTS;

/** @throws ApiError `proof_required` without a recent proof in this session */
export function requireFreshProof({ hasFreshProof }: Session, act: Act): void {
  if (hasFreshProof) return;
  const message = `Confirm that it is you to ${ACTS[act]}.`;
  throw new ApiError('proof_required', message, { details: { act } });
}

export interface Place {
  browser: string | null;
  network: string | null;
}

/** Such as `Firefox on Linux, network 203.0.113.0/24`. */
export function describePlace({ browser, network }: Place): string {
  return `${browser ?? 'an unknown browser'}, network ${network ?? 'unknown'}`;
}

/**
 * Mails a code that proves, in this session only, that its user is still the same person.
 * @param act what the code is for; the mail names it
 * @throws ApiError `rate_limited`
 */
export async function sendProofCode(
  deps: { db: Database; sendMail: SendMail; publicUrl(): string },
  { sessionId, email }: Session,
  { act, place }: { act: Act; place: Place },
): Promise<void> {
  const code = await makeCode(deps.db, PROOF_CODES, { owner: sessionId, email });
  void deps.sendMail({
    to: email,
    subject: `${code} is your code to ${ACTS[act]}`,
    text: `${code}

is your code to ${ACTS[act]}. It was asked for at ${deps.publicUrl()} from
${describePlace(place)}.

It works there only, once, within ${CODE_MINUTES} minutes. It does not sign anybody in.
For ${PROOF_MINUTES} minutes it also allows other changes that ask for a code.
Never tell the code to anybody.

If you did not ask for it, somebody else is signed in to your account. Sign in,
and end the sessions that you do not know: ${deps.publicUrl()}/settings
`,
  });
}

/** @throws ApiError `sign_in_failed` if the code is not this session's */
export async function proveByCode(
  db: Database,
  { sessionId }: Session,
  code: string,
): Promise<void> {
  const given = { owner: sessionId, code };
  await tryCode(db, PROOF_CODES, given);
  await db.transaction(async (tx) => {
    await useCode(tx, PROOF_CODES, given);
    await recordProof(tx, sessionId);
  });
}

/** @throws ApiError `sign_in_failed` if the passkey is not the account's */
export async function proveByPasskey(
  { db, publicUrl }: { db: Database; publicUrl: string },
  { accountId, sessionId }: Session,
  response: { id: string },
): Promise<void> {
  const checked = await checkPasskey({ db, publicUrl }, response, { accountId, sessionId });
  if (checked.accountId !== accountId) throw passkeyFailed();
  await db.transaction(async (tx) => {
    await usePasskey(tx, checked);
    await recordProof(tx, sessionId);
  });
}
