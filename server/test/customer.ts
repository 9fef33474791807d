import { createAccount } from '../src/accounts/accounts.ts';
import { createKey } from '../src/accounts/api-keys.ts';
import type { Database } from '../src/database/database.ts';
import { grant } from '../src/ledger/ledger.ts';

/** An account with paid credits and a key, made directly in the database. */
export async function makeCustomer(db: Database, credits: number) {
  const accountId = await createAccount(db, `${crypto.randomUUID()}@example.com`);
  const reference = crypto.randomUUID();
  if (credits > 0) await grant(db, { accountId, credits, kind: 'paid', reference });
  const { keyId, secret } = await createKey(db, { accountId });
  return { accountId, keyId, secret };
}
