import {
  command,
  type Database,
  type Queryable,
  queryFirst,
  queryValue,
  statement,
  type Transaction,
  violatedConstraint,
  whether,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { openBalances } from '../ledger/ledger.ts';

const INSERT = statement('account_insert', 'insert into accounts (id, email) values ($1, $2)');

/**
 * @param record called with the new id within the same transaction
 * @throws UsageError if the text is not an e-mail address, or the address already has an account
 */
export async function createAccount(
  db: Database,
  email: string,
  record?: (tx: Transaction, accountId: string) => Promise<void>,
): Promise<string> {
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254) {
    throw new UsageError(`${JSON.stringify(email)} is not an e-mail address`);
  }
  const id = newId('account');
  try {
    await db.transaction(async (tx) => {
      await tx.query(INSERT, [id, email]);
      await openBalances(tx, id);
      await record?.(tx, id);
    });
  } catch (error) {
    if (violatedConstraint(error) !== 'accounts_email') throw error;
    throw new UsageError(`${email} already has an account`);
  }
  return id;
}

const INSERT_NEW = statement(
  'account_insert_new',
  `insert into accounts (id, email) values ($1, $2)
   on conflict (lower(email)) do nothing returning id`,
);

const FIND_BY_EMAIL = statement(
  'account_find_by_email',
  `select id, disabled_at is not null as is_disabled from accounts where lower(email) = lower($1)`,
);

export interface EmailAccount {
  accountId: string;
  isNew: boolean;
  isDisabled: boolean;
}

/** Finds or creates the account of an e-mail address. Parallel calls create only one. */
export async function accountOfEmail(tx: Transaction, email: string): Promise<EmailAccount> {
  const accountId = newId('account');
  if ((await tx.query(INSERT_NEW, [accountId, email])).length > 0) {
    await openBalances(tx, accountId);
    return { accountId, isNew: true, isDisabled: false };
  }
  const [row] = await tx.query<{ id: string; is_disabled: boolean }>(FIND_BY_EMAIL, [email]);
  if (!row) throw new Error('the account was erased at this moment');
  return { accountId: row.id, isNew: false, isDisabled: row.is_disabled };
}

const FIND = statement(
  'account_find',
  'select id from accounts where id = $1 or lower(email) = lower($1)',
);

/**
 * Ignores the case of an address.
 * @throws UsageError if there is no such account
 */
export async function findAccount(db: Queryable, idOrEmail: string): Promise<string> {
  const [row] = await db.query<{ id: string }>(FIND, [idOrEmail]);
  if (!row)
    throw new UsageError(`no account has the id or e-mail address ${JSON.stringify(idOrEmail)}`);
  return row.id;
}

/**
 * The next request with any of its API keys gets 401. Its tasks continue.
 * @returns false if it was disabled already
 */
export const disableAccount = whether<[accountId: string]>(
  'account_disable',
  `update accounts set disabled_at = clock_now()
   where id = $1 and disabled_at is null returning id`,
);

const ENABLE = statement(
  'account_enable',
  `update accounts set disabled_at = null
   where id = $1 and disabled_at is not null and erased_at is null returning id`,
);

const IS_ERASED = statement(
  'account_is_erased',
  'select from accounts where id = $1 and erased_at is not null',
);

/** @throws UsageError if the account was erased */
export async function requireNotErased(db: Queryable, accountId: string): Promise<void> {
  if ((await db.query(IS_ERASED, [accountId])).length === 0) return;
  throw new UsageError(`${accountId} was erased: it can't be used again`);
}

/**
 * Its API keys work again, unless revoked or expired.
 * @returns false if it was not disabled
 * @throws UsageError if the account was erased
 */
export async function enableAccount(db: Queryable, accountId: string): Promise<boolean> {
  if ((await db.query(ENABLE, [accountId])).length > 0) return true;
  await requireNotErased(db, accountId);
  return false;
}

/** Makes other transactions that lock the account wait until this one ends. */
export const lockAccount = command<[accountId: string], Transaction>(
  'account_lock',
  'select from accounts where id = $1 for no key update',
);

const ANY = statement('account_any', 'select 1 from accounts limit 1');

export async function hasNoAccounts(db: Queryable): Promise<boolean> {
  return (await db.query(ANY)).length === 0;
}

/** undefined if the account was erased. */
export const emailOf = queryValue<[accountId: string], string | undefined>(
  'account_email',
  'select email from accounts where id = $1 and erased_at is null',
  undefined,
);

/** Locks an account like {@link lockAccount}. @returns whether it can be used */
export const lockOpenAccount = queryValue<[accountId: string], boolean, Transaction>(
  'account_lock_open',
  `select disabled_at is null and erased_at is null as is_open from accounts
   where id = $1 for no key update`,
  false,
);

// A shared lock: concurrent callers don't block each other, only a disable waits.
/** Whether an account is enabled; if so, it stays enabled until the transaction ends. */
export const keepEnabled = whether<[accountId: string], Transaction>(
  'account_keep_enabled',
  'select id from accounts where id = $1 and disabled_at is null for share',
);

const EMAILS = statement(
  'account_emails',
  'select id, email from accounts where id = any($1) and erased_at is null',
);

/** null if the account is erased. */
export async function withEmails<Row extends { account_id: string }>(
  db: Queryable,
  rows: Row[],
): Promise<(Row & { email: string | null })[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map((row) => row.account_id))];
  const found = await db.query<{ id: string; email: string }>(EMAILS, [ids]);
  const emails = new Map(found.map(({ id, email }) => [id, email]));
  return rows.map((row) => ({ ...row, email: emails.get(row.account_id) ?? null }));
}

/** {@link withEmails} for a single row. */
export async function withEmail<Row extends { account_id: string }>(db: Queryable, row: Row) {
  const [found] = await withEmails(db, [row]);
  return { ...row, email: found?.email ?? null };
}

export interface AccountListing {
  account_id: string;
  email: string;
  created_at: Date;
  disabled_at: Date | null;
  erased_at: Date | null;
}

const COLUMNS = 'id as account_id, email, created_at, disabled_at, erased_at';

const LIST = statement(
  'operator_accounts',
  `select ${COLUMNS} from accounts
   where ($1::text is null
       or (created_at, id) < (select c.created_at, c.id from accounts c where c.id = $1))
     and ($3::text is null or id = $3 or strpos(lower(email), lower($3)) > 0)
   order by created_at desc, id desc limit $2`,
);

/**
 * Newest first.
 * @param page.after the last account of the previous page
 * @param page.find only the account with this id, or those whose address contains this text
 */
export function listAccounts(
  db: Queryable,
  {
    after = null,
    find = null,
    limit,
  }: { after?: string | null | undefined; find?: string | null | undefined; limit: number },
): Promise<AccountListing[]> {
  return db.query<AccountListing>(LIST, [after, limit, find]);
}

export const readAccount = queryFirst<[accountId: string], ShownAccount>(
  'operator_account',
  `select ${COLUMNS}, (select erase_at from account_closings c
     where c.account_id = id and c.closed_at = disabled_at) as erase_at
   from accounts where id = $1`,
);

/** `erase_at`: when the grace period of a closed account ends. */
export type ShownAccount = AccountListing & { erase_at: Date | null };
