import { closePaymentPages } from '../../billing/payment-pages.ts';
import { recordAction } from '../../operator/actions.ts';
import type { Entered, OnReopened } from '../../sign-in/enter.ts';
import { type Doing, tellOwner } from '../tell-owner.ts';

const REOPEN = { command: 'account reopen', actor: 'its owner', reason: null };
const WHAT = 'Your account is open again and will not be deleted';

/** Records that a sign-in has reopened an account. A worker lets its plan continue. */
export function onReopened(doing: Doing): OnReopened {
  return async (tx, accountId) => {
    await recordAction(tx, REOPEN, { target: accountId });
    await closePaymentPages(tx, accountId);
    await tellOwner(tx, doing, { accountId, what: WHAT });
  };
}

/** What a page learns of a sign-in: whether the account was closed, and is open again. */
export type SignInResult = Pick<Entered, 'reopened'>;
