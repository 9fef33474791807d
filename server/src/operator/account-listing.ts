import { readAccount } from '../accounts/account-listing.ts';
import { validKeys } from '../accounts/api-keys.ts';
import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { readBalances } from '../ledger/overview.ts';
import { countTasks } from '../tasks/task-listing.ts';

/** An account with its balances, the number of its valid API keys, and of its tasks by phase. */
export async function showAccount(db: Database, accountId: string) {
  const account = await readAccount(db, accountId);
  if (!account) throw new UsageError(`there is no account ${JSON.stringify(accountId)}`);
  return {
    ...account,
    valid_keys: account.disabled_at === null ? await validKeys(db, accountId) : 0,
    ...(await readBalances(db, accountId)),
    tasks: await countTasks(db, accountId),
  };
}
