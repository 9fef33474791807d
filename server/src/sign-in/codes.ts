import type { Queryable } from '../database/database.ts';
import type { SendMail } from '../mail/mailer.ts';
import { type Entered, enter, enterByEmail, requireOpen, type SignInDeps } from './enter.ts';
import { CODE_MINUTES, makeCode, SIGN_IN_CODES, tryCode, useCode } from './mailed-codes.ts';
import type { SignedInFrom } from './sessions.ts';

export interface SendCodeDeps {
  db: Queryable;
  sendMail: SendMail;
  publicUrl(): string;
}

/**
 * Sends a code to an address. The address need not be known: an account is made when the code is
 * used. Whether and how fast the mail server takes the mail makes no difference to the caller.
 * @param email as `normalEmail` returns it
 * @throws ApiError `rate_limited`
 */
export async function sendCode(
  { db, sendMail, publicUrl }: SendCodeDeps,
  email: string,
): Promise<void> {
  const code = await makeCode(db, SIGN_IN_CODES, { owner: email, email });
  void sendMail({
    to: email,
    subject: `${code} is your code to sign in`,
    text: `${code}

is your code to sign in at ${publicUrl()}. It works once, within ${CODE_MINUTES} minutes.

If you did not ask for it, ignore this mail. Never tell the code to anybody.
`,
  });
}

/**
 * Signs a person in by the code from a mail. Creates the account if there is none.
 * @throws ApiError `sign_in_failed`, `account_disabled`
 */
export async function enterByCode(
  { db, signupCredits, onReopened }: SignInDeps,
  { email, code }: { email: string; code: string },
  from: Omit<SignedInFrom, 'method'>,
): Promise<Entered> {
  const given = { owner: email, code };
  await tryCode(db, SIGN_IN_CODES, given);
  return db.transaction(async (tx) => {
    const { accountId } = await enterByEmail(tx, email, signupCredits);
    // The account is locked before the code, as where the account is erased.
    const reopened = await requireOpen(tx, accountId, onReopened);
    await useCode(tx, SIGN_IN_CODES, given);
    return enter(tx, { accountId, reopened }, { ...from, method: 'code' });
  });
}
