import {
  command,
  type Database,
  type Queryable,
  queryValue,
  type Transaction,
} from '../database/database.ts';
import { newId } from '../kernel/ids.ts';
import { type KindBalances, readKinds } from './overview.ts';
import { adjustment, transfer } from './transfer.ts';

/** An account's test balance at first and after each refill. */
const TEST_CREDITS = 100_000;

export const openTestBalance = command<[accountId: string]>(
  'ledger_test_open',
  `with opened as (
     insert into ledger_balances (account_id, kind, granted, available)
     values ($1, 'test', ${TEST_CREDITS}, ${TEST_CREDITS})
     on conflict do nothing returning account_id, available)
   insert into ledger_transfers
     (account_id, kind, source, target, credits, reason, reference, available_after, reserved_after)
   select account_id, 'test', 'granted', 'available', available, 'grant',
     'grant:test:' || account_id, available, 0 from opened`,
);

const lockAvailable = queryValue<[accountId: string], number, Transaction>(
  'ledger_test_lock',
  `select available from ledger_balances where account_id = $1 and kind = 'test' for update`,
  0,
);

/** Reserved credits stay reserved. @returns what is available now */
export async function refillTestCredits(db: Database, accountId: string): Promise<number> {
  return db.transaction(async (tx) => {
    await openTestBalance(tx, accountId);
    const missing = TEST_CREDITS - (await lockAvailable(tx, accountId));
    if (missing === 0) return TEST_CREDITS;
    const { available } = await transfer(tx, {
      accountId,
      kind: 'test',
      ...adjustment(missing),
      reference: `adjust:${newId('testRefill')}`,
    });
    return available;
  });
}

/** The test balance, even before the first test key or test task opens it. */
export async function testBalance(db: Queryable, accountId: string): Promise<KindBalances> {
  const { available = TEST_CREDITS, reserved = 0 } =
    (await readKinds(db, accountId)).get('test') ?? {};
  return { available, reserved };
}
