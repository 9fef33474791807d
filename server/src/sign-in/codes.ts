import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { countRequest } from '../accounts/rate-window.ts';
import { type Queryable, statement, type Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import type { SendMail } from '../mail/mailer.ts';
import { mailboxOf } from './email-address.ts';
import { type Entered, enter, enterByEmail, requireOpen, type SignInDeps } from './enter.ts';
import type { SignedInFrom } from './sessions.ts';

const CODE_DIGITS = 8;
export const CODE_MINUTES = 10;
/** How often a code may be tried. */
const MAX_TRIES = 5;

/** Codes of all kinds for one mailbox, from all senders of requests together. */
const CODES_OF_MAILBOX = [
  { max: 5, seconds: 15 * 60 },
  { max: 20, seconds: 24 * 3600 },
];

/**
 * The statements of one kind of code: its table has at most one code for each owner, which a new
 * one replaces. A code of one kind is never compared with the codes of another.
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
    // The try is counted in the statement that reads the hash: five of any number are read.
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

type CodeKind = ReturnType<typeof codesIn>;

/** They sign a person in; the owner of one is an e-mail address. */
const SIGN_IN_CODES = codesIn('sign_in_codes', 'email');
/** They prove in a session that its person is still the same; the owner of one is the session. */
export const PROOF_CODES = codesIn('proof_codes', 'session_id');

/** A code that somebody has entered. */
interface GivenCode {
  owner: string;
  code: string;
}

function hashOf({ owner, code }: GivenCode): Buffer {
  return hash('sha256', `${owner} ${code}`, 'buffer');
}

/**
 * Makes a code for a mail to this address.
 * @throws ApiError `rate_limited`
 */
export async function makeCode(
  db: Queryable,
  kind: CodeKind,
  { owner, email }: { owner: string; email: string },
): Promise<string> {
  const name = hash('sha256', mailboxOf(email), 'base64url');
  for (const limit of CODES_OF_MAILBOX) {
    await countRequest(db, `code:${limit.seconds}:${name}`, limit);
  }
  const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0');
  await db.query(kind.store, [owner, hashOf({ owner, code })]);
  return code;
}

/**
 * Compares a code with the one that was mailed, and counts the try. It can be used afterwards.
 * @throws ApiError `sign_in_failed`
 */
export async function tryCode(db: Queryable, kind: CodeKind, given: GivenCode): Promise<void> {
  const [row] = await db.query<{ code_hash: Buffer }>(kind.try, [given.owner]);
  const hashed = hashOf(given);
  const isRight = timingSafeEqual(row?.code_hash ?? Buffer.alloc(hashed.length), hashed);
  if (!row || !isRight) throw wrongCode();
}

/**
 * Deletes a code that was tried, so that it works once.
 * @throws ApiError `sign_in_failed` if it was used meanwhile
 */
export async function useCode(tx: Transaction, kind: CodeKind, given: GivenCode): Promise<void> {
  if ((await tx.query(kind.use, [given.owner, hashOf(given)])).length === 0) throw wrongCode();
}

function wrongCode(): ApiError {
  const message = 'This code is wrong, used or expired. After five wrong tries, ask for a new one.';
  return new ApiError('sign_in_failed', message);
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
