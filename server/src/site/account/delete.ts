import { Type } from 'typebox';
import { closePaymentPages } from '../../billing/payment-pages.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { performAction } from '../../operator/actions.ts';
import { closeAccount } from '../../sign-in/deletion.ts';
import { takeSession } from '../auth/browser.ts';
import { sessionOf, siteRoute } from '../route.ts';

interface DeleteDeps {
  db: Database;
  publicUrl(): string;
}

/**
 * Deletes the account: nobody can use it any more from now on, and a worker erases its personal
 * data once its tasks have ended. The e-mail address confirms that this is meant.
 */
export const postDelete = siteRoute({
  method: 'POST',
  url: '/console/api/account/delete',
  body: Type.Object({ email: Type.String({ maxLength: 300 }) }),
  handle: async ({ db, publicUrl }: DeleteDeps, { body, request, reply }) => {
    const { accountId, email } = sessionOf(request);
    if (body.email.trim().toLowerCase() !== email.toLowerCase()) {
      const details = { field: 'email', reason: 'not_yours' };
      throw new ApiError('invalid_request', 'This is not the address of the account.', { details });
    }
    const action = { command: 'account delete', actor: 'its owner', reason: null };
    await performAction(db, action, { target: accountId }, async (tx) => {
      // The account is locked before its orders, as where an operator disables it.
      const closed = await closeAccount(tx, accountId);
      await closePaymentPages(tx, accountId);
      return closed;
    });
    takeSession(reply, publicUrl());
    return {};
  },
});
