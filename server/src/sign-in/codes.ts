import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { countRequest } from '../accounts/rate-window.ts';
import { type Queryable, statement, type Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import type { SendMail } from '../mail/mailer.ts';
import { mailboxOf } from './email-address.ts';
import { accountForSignIn, type Entered, enter, lockAndReopen, type SignInDeps } from './enter.ts';
import type { SignedInFrom } from './sessions.ts';

const CODE_DIGITS = 8;
export const CODE_MINUTES = 10;
const MAX_TRIES = 5;

/** The most codes, and receipts of reports, sent to one mailbox, whoever requests them. */
const MAILS_OF_MAILBOX = [
  { max: 5, seconds: 15 * 60 },
  { max: 20, seconds: 24 * 3600 },
];

/**
 * The statements of a table of codes. An owner has at most one code: a new one replaces it.
 */
function codesIn(table: 'sign_in_codes' | 'proof_codes', owner: 'email' | 'session_id') {
  return {
    store: statement(
      `${table}_store`,
      `insert into ${table} (${owner}, code_hash, expires_at)
       values ($1, $2, clock_now() + interval '${CODE_MINUTES} minutes')
       on conflict (${owner}) do update
         set code_hash = excluded.code_hash, tries = 0, expires_at = excluded.expires_at`,
    ),
    // Counts the try while reading the hash, so that parallel guesses get five tries in all.
    try: statement(
      `${table}_try`,
      `update ${table} set tries = tries + 1
       where ${owner} = $1 and tries < ${MAX_TRIES} and expires_at > clock_now()
       returning code_hash`,
    ),
    use: statement(
      `${table}_use`,
      `delete from ${table} where ${owner} = $1 and code_hash = $2 returning ${owner}`,
    ),
  };
}

/** Codes of different kinds are never compared. */
type CodeKind = ReturnType<typeof codesIn>;

/** Sign-in codes, owned by an e-mail address. */
const SIGN_IN_CODES = codesIn('sign_in_codes', 'email');
/** Codes that prove it is still the same person, owned by a session. */
export const PROOF_CODES = codesIn('proof_codes', 'session_id');

type GivenCode = Record<'owner' | 'code', string>;

function hashOf({ owner, code }: GivenCode): Buffer {
  return hash('sha256', `${owner} ${code}`, 'buffer');
}

/**
 * Counts a requested mail, such as a code.
 * @throws ApiError `rate_limited` when the mailbox gets too many
 */
export async function countMail(db: Queryable, email: string): Promise<void> {
  const name = hash('sha256', mailboxOf(email), 'base64url');
  for (const limit of MAILS_OF_MAILBOX) {
    await countRequest(db, `code:${limit.seconds}:${name}`, limit);
  }
}

/** @throws ApiError `rate_limited` */
export async function makeCode(
  db: Queryable,
  kind: CodeKind,
  { owner, email }: { owner: string; email: string },
): Promise<string> {
  await countMail(db, email);
  const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0');
  await db.query(kind.store, [owner, hashOf({ owner, code })]);
  return code;
}

/** Counts the try, without using the code up. @throws ApiError `sign_in_failed` */
export async function tryCode(db: Queryable, kind: CodeKind, given: GivenCode): Promise<void> {
  const [row] = await db.query<{ code_hash: Buffer }>(kind.try, [given.owner]);
  const hashed = hashOf(given);
  const isRight = timingSafeEqual(row?.code_hash ?? Buffer.alloc(hashed.length), hashed);
  if (!row || !isRight) throw wrongCode();
}

/** Uses up a tried code. @throws ApiError `sign_in_failed` if it was used meanwhile */
export async function useCode(tx: Transaction, kind: CodeKind, given: GivenCode): Promise<void> {
  if ((await tx.query(kind.use, [given.owner, hashOf(given)])).length === 0) throw wrongCode();
}

function wrongCode(): ApiError {
  const message = 'This code is wrong, used or expired. After five wrong tries, ask for a new one.';
  return new ApiError('sign_in_failed', message);
}

/**
 * Mails a code. The caller can't tell whether the address is known, nor whether the mail server
 * accepts the mail.
 * @param email as `normalEmail` returns it
 * @throws ApiError `rate_limited`
 */
export async function sendCode(
  { db, sendMail, publicUrl }: { db: Queryable; sendMail: SendMail; publicUrl(): string },
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

/** Creates the account if there is none. @throws ApiError `sign_in_failed`, `account_disabled` */
export async function enterByCode(
  { db, signupCredits, onReopened }: SignInDeps,
  { email, code }: { email: string; code: string },
  from: Omit<SignedInFrom, 'method'>,
): Promise<Entered> {
  const given = { owner: email, code };
  await tryCode(db, SIGN_IN_CODES, given);
  return db.transaction(async (tx) => {
    const { accountId } = await accountForSignIn(tx, email, signupCredits);
    // Lock the account before the code, in the same order as an erase.
    const reopened = await lockAndReopen(tx, accountId, onReopened);
    await useCode(tx, SIGN_IN_CODES, given);
    return enter(tx, { accountId, reopened }, { ...from, method: 'code' });
  });
}
