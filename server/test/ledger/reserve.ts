import type { Transaction } from '../../src/database/database.ts';
import { ApiError } from '../../src/kernel/errors.ts';
import { lockBalances, type Reservation } from '../../src/ledger/reserve.ts';

/**
 * Reserves credits for one task, as a create does.
 * @returns how many of them are promotional
 * @throws ApiError `insufficient_credits`
 */
export async function reserve(
  tx: Transaction,
  reservation: Omit<Reservation, 'spends'> & Partial<Reservation>,
): Promise<number> {
  const wanted = { spends: 'paid', ...reservation } as const;
  const balances = await lockBalances(tx, [wanted], 'wait');
  const reserved = balances.reserve(wanted);
  if (reserved instanceof ApiError) throw reserved;
  if (reserved === 'undecided') throw new Error('the balance was not waited for');
  await balances.book();
  return reserved.promotionalCredits;
}
