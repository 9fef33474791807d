import type { Transaction } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { balances } from '../ledger.ts';
import { bringUpToDate } from '../lots.ts';
import { partsOf, type TaskCredits, transfer } from '../transfer.ts';

/**
 * Reserves credits for a task of the website: promotional ones first, then paid ones. Of each kind,
 * those that expire first. Both balances are locked until the transaction ends, the paid one first,
 * so reservations at the same time are decided one after the other.
 * @returns how many of the credits are promotional
 * @throws ApiError `insufficient_credits`; then nothing was reserved
 */
export async function reserveWithPromotional(
  tx: Transaction,
  { accountId, taskId, credits }: Omit<TaskCredits, 'promotionalCredits'>,
): Promise<number> {
  await bringUpToDate(tx, { accountId, kind: 'paid' });
  await bringUpToDate(tx, { accountId, kind: 'promotional' });
  const { paid, promotional } = await balances(tx, accountId);
  const split = splitCredits(credits, {
    paid: paid.available,
    promotional: promotional.available,
  });
  if (!split.isAffordable) throw insufficient(credits);
  const { promotional: promotionalCredits } = split;
  for (const part of partsOf({ accountId, taskId, credits, promotionalCredits })) {
    await transfer(tx, {
      accountId,
      kind: part.kind,
      source: 'available',
      target: 'reserved',
      credits: part.credits,
      reason: 'reserve',
      reference: `reserve:${part.name}`,
    });
  }
  return promotionalCredits;
}

/** How the website pays a price from these available credits: promotional ones first. */
export function splitCredits(
  credits: number,
  available: { paid: number; promotional: number },
): { promotional: number; paid: number; isAffordable: boolean } {
  const promotional = Math.min(credits, available.promotional);
  const paid = credits - promotional;
  return { promotional, paid, isAffordable: paid <= available.paid };
}

function insufficient(credits: number): ApiError {
  return new ApiError('insufficient_credits', 'Not enough credits for this request.', {
    details: { required_credits: credits },
  });
}
