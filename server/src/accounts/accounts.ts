// The room accounts/: customers, their API keys, and the admission of requests, which authenticates
// and counts them (docs/ARCHITECTURE.md, "Walk 1").

import {
  command,
  type Database,
  type Queryable,
  query,
  queryColumn,
  queryFirst,
  queryValue,
  statement,
  type Transaction,
  whether,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { openBalances } from '../ledger/ledger.ts';

const insert = whether<[id: string, email: string], Transaction>(
  'account_insert',
  `insert into accounts (id, email) values ($1, $2)
   on conflict (lower(email)) do nothing returning id`,
);

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
  return db.transaction(async (tx) => {
    const { accountId, isNew } = await accountOfEmail(tx, email);
    if (!isNew) throw new UsageError(`${email} already has an account`);
    await record?.(tx, accountId);
    return accountId;
  });
}

const findByEmail = queryValue<[email: string], string | undefined>(
  'account_find_by_email',
  'select id from accounts where lower(email) = lower($1)',
  undefined,
);

/** Finds or creates the account of an e-mail address. Parallel calls create only one. */
export async function accountOfEmail(tx: Transaction, email: string) {
  const newAccount = newId('account');
  if (await insert(tx, newAccount, email)) {
    await openBalances(tx, newAccount);
    return { accountId: newAccount, isNew: true };
  }
  const accountId = await findByEmail(tx, email);
  if (accountId === undefined) throw new Error('the account was erased just now');
  return { accountId, isNew: false };
}

const find = queryValue<[idOrEmail: string], string | undefined>(
  'account_find',
  'select id from accounts where id = $1 or lower(email) = lower($1)',
  undefined,
);

/** Ignores the case of an address. @throws UsageError if there is no such account */
export async function findAccount(db: Queryable, idOrEmail: string): Promise<string> {
  const id = await find(db, idOrEmail);
  if (id !== undefined) return id;
  throw new UsageError(`no account has the id or e-mail address ${JSON.stringify(idOrEmail)}`);
}

/** The account's API keys get 401; its tasks continue. @returns false if it was disabled before */
export const disableAccount = whether<[accountId: string]>(
  'account_disable',
  `update accounts set disabled_at = clock_now()
   where id = $1 and disabled_at is null returning id`,
);

const enable = whether<[accountId: string]>(
  'account_enable',
  `update accounts set disabled_at = null
   where id = $1 and disabled_at is not null and erased_at is null returning id`,
);

const isErased = whether<[accountId: string]>(
  'account_is_erased',
  'select from accounts where id = $1 and erased_at is not null',
);

/** @throws UsageError if the account was erased */
export async function requireNotErased(db: Queryable, accountId: string): Promise<void> {
  if (!(await isErased(db, accountId))) return;
  throw new UsageError(`${accountId} was erased: it can't be used again`);
}

/**
 * Enables an account. Its API keys work again, unless revoked or expired.
 * @returns false if it was not disabled
 * @throws UsageError if the account was erased
 */
export async function enableAccount(db: Queryable, accountId: string): Promise<boolean> {
  if (await enable(db, accountId)) return true;
  await requireNotErased(db, accountId);
  return false;
}

/** Makes other transactions that lock the account wait until this one ends. */
export const lockAccount = command<[accountId: string], Transaction>(
  'account_lock',
  'select from accounts where id = $1 for no key update',
);

export const hasAccounts = whether<[]>('account_any', 'select 1 from accounts limit 1');

/** The e-mail address; undefined if the account was erased. */
export const emailOf = queryValue<[accountId: string], string | undefined>(
  'account_email',
  'select email from accounts where id = $1 and erased_at is null',
  undefined,
);

/** The accounts with these addresses, which must be in lower case. */
export const accountsOf = queryColumn<[emails: string[]], string>(
  'accounts_of',
  'select id from accounts where lower(email) = any($1) and erased_at is null order by id',
);

/** Locks an account like {@link lockAccount}. @returns whether it is neither disabled nor erased */
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

/** Adds each account's address, which is null if the account was erased. */
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

/**
 * A page of accounts, newest first.
 * @param after the last account of the previous page
 * @param find only the account with this id, or those whose address contains this text
 */
export const listAccounts = query<
  [after: string | null, limit: number, find: string | null],
  AccountListing
>(
  'operator_accounts',
  `select ${COLUMNS} from accounts
   where ($1::text is null
       or (created_at, id) < (select c.created_at, c.id from accounts c where c.id = $1))
     and ($3::text is null or id = $3 or strpos(lower(email), lower($3)) > 0)
   order by created_at desc, id desc limit $2`,
);

/** `erase_at`: when the grace period of a closed account ends. */
export const readAccount = queryFirst<
  [accountId: string],
  AccountListing & { erase_at: Date | null }
>(
  'operator_account',
  `select ${COLUMNS}, (select erase_at from account_closings where account_id = id) as erase_at
   from accounts where id = $1`,
);
