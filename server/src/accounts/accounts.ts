import {
  type Database,
  type Queryable,
  statement,
  violatedConstraint,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { openBooks } from '../ledger/ledger.ts';

const INSERT = statement('account_insert', 'insert into accounts (id, email) values ($1, $2)');

/**
 * Creates an account with empty books.
 * @returns its id
 * @throws UsageError when the address is no e-mail address or has an account already
 */
export async function createAccount(db: Database, email: string): Promise<string> {
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254) {
    throw new UsageError(`${JSON.stringify(email)} is not an e-mail address`);
  }
  const id = newId('account');
  try {
    await db.transaction(async (tx) => {
      await tx.query(INSERT, [id, email]);
      await openBooks(tx, id);
    });
  } catch (error) {
    if (violatedConstraint(error) !== 'accounts_email') throw error;
    throw new UsageError(`${email} has an account already`);
  }
  return id;
}

const FIND = statement(
  'account_find',
  'select id from accounts where id = $1 or lower(email) = lower($1)',
);

/**
 * The id of the account that an operator means by an account id or an e-mail address.
 * @throws UsageError when there is none
 */
export async function findAccount(db: Queryable, idOrEmail: string): Promise<string> {
  const [row] = await db.query<{ id: string }>(FIND, [idOrEmail]);
  if (!row) throw new UsageError(`there is no account ${JSON.stringify(idOrEmail)}`);
  return row.id;
}

const DISABLE = statement(
  'account_disable',
  'update accounts set disabled_at = coalesce(disabled_at, clock_now()) where id = $1',
);

/** From the next request on, all keys of the account answer 401. Its tasks go on to their end. */
export async function disableAccount(db: Queryable, accountId: string): Promise<void> {
  await db.query(DISABLE, [accountId]);
}

const ANY = statement('account_any', 'select 1 from accounts limit 1');

/** Whether nobody has an account yet. */
export async function hasNoAccounts(db: Queryable): Promise<boolean> {
  return (await db.query(ANY)).length === 0;
}
