import { Type } from 'typebox';
import { wakePayments } from '../../billing/payment-pages.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { readOverview } from '../../ledger/overview.ts';
import { performAction } from '../../operator/actions.ts';
import { closeAccount } from '../../sign-in/deletion.ts';
import { accountDisabled } from '../../sign-in/enter.ts';
import { clearSessionCookie } from '../auth/cookies.ts';
import { type PageDeps, siteRoute } from '../route.ts';
import { mailTime, tellOwner } from '../tell-owner.ts';

/**
 * Closes the account: it is unusable at once, and after a grace period a worker erases its personal
 * data. The owner confirms by typing the e-mail address.
 */
export const postDelete = siteRoute('POST /console/api/account/delete', {
  proof: 'deletion',
  body: Type.Object({ email: Type.String({ maxLength: 300 }) }),
  handle: async (deps: PageDeps, { body, request, reply, session: { accountId, email } }) => {
    if (body.email.trim().toLowerCase() !== email.toLowerCase()) {
      const details = { field: 'email', reason: 'not_yours' };
      throw invalidRequest('This is not the address of the account.', details);
    }
    const { db, publicUrl } = deps;
    const more = await howToKeep(db, accountId, publicUrl());
    const eraseAt = await close(db, accountId, (tx, eraseAt) => {
      const what = `Your account will be deleted on ${mailTime(eraseAt)}`;
      return tellOwner(tx, { request, publicUrl }, { accountId, what, more });
    });
    clearSessionCookie(reply, publicUrl());
    return { erase_at: eraseAt };
  },
});

async function close(
  db: Database,
  accountId: string,
  onClosed: (tx: Transaction, eraseAt: Date) => Promise<void>,
): Promise<Date> {
  const action = { command: 'account delete', actor: 'its owner', reason: null };
  const { eraseAt } = await performAction(db, action, { target: accountId }, async (tx) => {
    // Lock the account before its orders, in the same order as an operator's disable.
    const eraseAt = await closeAccount(tx, accountId);
    if (!eraseAt) throw accountDisabled(); // by an operator, meanwhile
    await wakePayments(tx, accountId);
    await onClosed(tx, eraseAt);
    return { eraseAt, changed: true };
  });
  return eraseAt;
}

/** What the mail says about the credits, and how to keep the account. */
async function howToKeep(db: Database, accountId: string, url: string): Promise<string> {
  const { paid, promotional } = await readOverview(db, accountId);
  const reserved = paid.reserved + promotional.reserved;
  return `
To keep the account, sign in before then: ${url}/sign-in

It has ${paid.available} paid and ${promotional.available} promotional credits, and ${reserved} are
reserved for videos that are being made. All are lost when it is deleted. Until
then its API keys do not work, nothing is bought, and its plan is not renewed.
`;
}
