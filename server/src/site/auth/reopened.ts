import type { FastifyRequest } from 'fastify';
import { closePaymentPages } from '../../billing/payment-pages.ts';
import type { Transaction } from '../../database/database.ts';
import { recordAction } from '../../operator/actions.ts';
import type { Entered } from '../../sign-in/enter.ts';
import { type TellOwnerDeps, tellOwner } from '../tell-owner.ts';

const REOPEN = { command: 'account reopen', actor: 'its owner', reason: null };

/** Records that a sign-in has reopened an account. A worker lets its plan continue. */
export async function onReopened(tx: Transaction, accountId: string): Promise<void> {
  await recordAction(tx, REOPEN, { target: accountId });
  await closePaymentPages(tx, accountId);
}

/** What a page learns of a sign-in. */
export interface SignInResult {
  /** Whether the account was closed, and is open again. */
  reopened: boolean;
}

/** Mails the owner of an account that a sign-in has reopened. */
export function tellIfReopened(
  deps: TellOwnerDeps,
  request: FastifyRequest,
  { reopenedFor: email }: Pick<Entered, 'reopenedFor'>,
): SignInResult {
  const what = 'Your account is open again and will not be deleted';
  if (email !== undefined) tellOwner(deps, request, { email, what });
  return { reopened: email !== undefined };
}
