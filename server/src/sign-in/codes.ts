import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { countRequest } from '../accounts/rate-window.ts';
import { type Database, type Queryable, statement } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import type { SendMail } from '../mail/mailer.ts';
import { mailboxOf } from './email-address.ts';
import { enter, enterByEmail } from './enter.ts';
import type { SignedInFrom } from './sessions.ts';

const CODE_DIGITS = 8;
const CODE_MINUTES = 10;
/** How often a code may be tried. */
const MAX_TRIES = 5;

/** Codes for one mailbox, from all senders of requests together. */
const CODES_OF_MAILBOX = [
  { max: 5, seconds: 15 * 60 },
  { max: 20, seconds: 24 * 3600 },
];

const STORE = statement(
  'code_store',
  `insert into sign_in_codes (email, code_hash, expires_at)
   values ($1, $2, clock_now() + interval '${CODE_MINUTES} minutes')
   on conflict (email) do update
     set code_hash = excluded.code_hash, tries = 0, expires_at = excluded.expires_at`,
);

function hashOf(email: string, code: string): Buffer {
  return hash('sha256', `${email} ${code}`, 'buffer');
}

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
  const name = hash('sha256', mailboxOf(email), 'base64url');
  for (const limit of CODES_OF_MAILBOX) {
    await countRequest(db, `code:${limit.seconds}:${name}`, limit);
  }
  const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0');
  await db.query(STORE, [email, hashOf(email, code)]);
  void sendMail({
    to: email,
    subject: `${code} is your code to sign in`,
    text: `${code}

is your code to sign in at ${publicUrl()}. It works once, within ${CODE_MINUTES} minutes.

If you did not ask for it, ignore this mail. Never tell the code to anybody.
`,
  });
}

// The try is counted in the statement that reads the hash: of any number at once, five are read.
const TRY = statement(
  'code_try',
  `update sign_in_codes set tries = tries + 1
   where email = $1 and tries < ${MAX_TRIES} and expires_at > clock_now() returning code_hash`,
);

const USE = statement(
  'code_use',
  'delete from sign_in_codes where email = $1 and code_hash = $2 returning email',
);

/**
 * Signs a person in by the code from a mail. Creates the account if there is none.
 * @returns the token for the cookie
 * @throws ApiError `sign_in_failed`, `account_disabled`
 */
export async function enterByCode(
  { db, signupCredits }: { db: Database; signupCredits: number },
  { email, code }: { email: string; code: string },
  from: Omit<SignedInFrom, 'method'>,
): Promise<string> {
  const given = hashOf(email, code);
  const [row] = await db.query<{ code_hash: Buffer }>(TRY, [email]);
  const isRight = timingSafeEqual(row?.code_hash ?? Buffer.alloc(given.length), given);
  if (!row || !isRight) throw wrongCode();
  return db.transaction(async (tx) => {
    if ((await tx.query(USE, [email, given])).length === 0) throw wrongCode();
    const accountId = await enterByEmail(tx, email, signupCredits);
    return enter(tx, accountId, { ...from, method: 'code' });
  });
}

function wrongCode(): ApiError {
  const message = 'This code is wrong, used or expired. After five wrong tries, ask for a new one.';
  return new ApiError('sign_in_failed', message);
}
