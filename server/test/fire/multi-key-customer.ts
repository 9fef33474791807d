import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import type { Database } from '../../src/database/database.ts';
import { grant } from '../../src/ledger/ledger.ts';

export const PROMOTIONAL_CREDITS = 500;

/** An account with several API keys, since one key would use up its rate window. */
export interface MultiKeyCustomer {
  accountId: string;
  paidCredits: number;
  /** The secrets of its API keys, in turn. */
  nextSecret(): string;
}

export async function makeMultiKeyCustomer(
  db: Database,
  { paidCredits, keys }: { paidCredits: number; keys: number },
): Promise<MultiKeyCustomer> {
  const accountId = await createAccount(db, `${crypto.randomUUID()}@example.com`);
  const give = (kind: 'paid' | 'promotional', credits: number) =>
    grant(db, { accountId, credits, kind, reference: crypto.randomUUID() });
  await give('paid', paidCredits);
  await give('promotional', PROMOTIONAL_CREDITS);
  const made = Array.from({ length: keys }, () => createKey(db, { accountId }));
  const secrets = (await Promise.all(made)).map((key) => key.secret);
  let turn = 0;
  const nextSecret = () => {
    turn += 1;
    return secrets[turn % secrets.length] ?? '';
  };
  return { accountId, paidCredits, nextSecret };
}
