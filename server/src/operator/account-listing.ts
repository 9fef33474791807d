import { type Database, type Queryable, statement } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { readBalances } from '../ledger/overview.ts';

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
 * A page of accounts, the newest first.
 * @param page.after the last account of the page before
 * @param page.find only the account with this id, or those with this text in their address
 */
export function listAccounts(
  db: Database,
  {
    after = null,
    find = null,
    limit,
  }: { after?: string | null | undefined; find?: string | null | undefined; limit: number },
): Promise<AccountListing[]> {
  return db.query<AccountListing>(LIST, [after, limit, find]);
}

const EMAILS = statement(
  'operator_account_emails',
  'select id, email from accounts where id = any($1) and erased_at is null',
);

/** Adds the address of its account to each row; null if the account is erased. */
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

/** As {@link withEmails}, for one thing. */
export async function withEmail<Row extends { account_id: string }>(db: Queryable, row: Row) {
  const [found] = await withEmails(db, [row]);
  return { ...row, email: found?.email ?? null };
}

const SHOW = statement(
  'operator_account',
  `select ${COLUMNS}, (select erase_at from account_closings c
     where c.account_id = id and c.closed_at = disabled_at) as erase_at
   from accounts where id = $1`,
);

/** `erase_at`: when an account that its owner has closed can't be reopened any more. */
type ShownAccount = AccountListing & { erase_at: Date | null };

const PHASES = statement(
  'operator_account_phases',
  `select phase, count(*)::int as tasks from tasks where account_id = $1
   group by phase order by phase`,
);

const ARCHIVED = statement(
  'operator_account_archived',
  'select count(*)::int as tasks from archived_tasks where account_id = $1',
);

const VALID_KEYS = statement(
  'operator_account_keys',
  `select count(*)::int as keys from api_keys where account_id = $1 and revoked_at is null
     and (expires_at is null or expires_at > clock_now())`,
);

/** An account with its balances, the number of its valid API keys, and of its tasks by phase. */
export async function showAccount(db: Database, accountId: string) {
  const [account] = await db.query<ShownAccount>(SHOW, [accountId]);
  if (!account) throw new UsageError(`there is no account ${JSON.stringify(accountId)}`);
  const [valid] = await db.query<{ keys: number }>(VALID_KEYS, [accountId]);
  const [archived] = await db.query<{ tasks: number }>(ARCHIVED, [accountId]);
  return {
    ...account,
    valid_keys: account.disabled_at === null ? (valid?.keys ?? 0) : 0,
    ...(await readBalances(db, accountId)),
    tasks: await db.query<{ phase: string; tasks: number }>(PHASES, [accountId]),
    archived_tasks: archived?.tasks ?? 0,
  };
}
