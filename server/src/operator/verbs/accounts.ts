import {
  createAccount,
  disableAccount,
  enableAccount,
  findAccount,
  listAccounts,
  lockAccount,
  readAccount,
} from '../../accounts/accounts.ts';
import { countValidKeys } from '../../accounts/api-keys.ts';
import { withdrawClosing, withdrawDeletion } from '../../accounts/closing.ts';
import { wakePayments } from '../../billing/payment-pages.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { storable } from '../../database/json-text.ts';
import { UsageError } from '../../kernel/errors.ts';
import { readBalances, withAvailable } from '../../ledger/overview.ts';
import { accountPausedUntil, endAccountPause } from '../../moderation/account-pause.ts';
import { listIdentities, removeIdentities } from '../../sign-in/issuers/identities.ts';
import { listPasskeys, removePasskey, removePasskeys } from '../../sign-in/passkeys.ts';
import { endSessions, listSessions } from '../../sign-in/sessions.ts';
import { countTasks } from '../../tasks/task-listing.ts';
import { type Action, performAction, recordAction } from '../actions.ts';
import { eraseAccount } from '../erase.ts';
import { ACCOUNT, flag, OF_ACCOUNT, optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const ACCOUNTS = {
  'accounts create': verb({
    summary: 'Create an account with no credits',
    fields: { email: text('The e-mail address of its owner.', { word: 'EMAIL', max: 254 }) },
    positional: ['email'],
    reason: 'optional',
    dialog: { title: 'Create the account' },
    createsDatabase: true,
    run: async ({ db }, { email }, action) => {
      const record = (tx: Transaction, target: string) => recordAction(tx, action, { target });
      return { account_id: await createAccount(db, email, record) };
    },
  }),
  'accounts disable': verb({
    summary: 'Respond 401 to all keys and sessions of an account from now on; its tasks continue',
    ...OF_ACCOUNT,
    reason: 'optional',
    dialog: { title: 'Disable the account', isDangerous: true },
    run: ({ db }, { account }, action) => disableByOperator(db, action, account),
  }),
  'accounts enable': verb({
    summary: 'Accept the keys of a disabled account again, except revoked and expired ones',
    ...OF_ACCOUNT,
    reason: 'required',
    dialog: { title: 'Enable the account' },
    run: ({ db }, { account }, action) => enableByOperator(db, action, account),
  }),
  'accounts resume': verb({
    summary: 'End the pause of an account whose content was refused too often',
    ...OF_ACCOUNT,
    reason: 'required',
    dialog: { title: 'Resume the account' },
    run: async ({ db }, { account }, action) => {
      const target = await findAccount(db, account);
      return performAction(db, action, { target }, async (tx) => {
        return { account_id: target, paused: false, changed: await endAccountPause(tx, target) };
      });
    },
  }),
  'accounts sessions': verb({
    summary:
      'List where an account is signed in on the website, its passkeys and outside identities',
    ...OF_ACCOUNT,
    run: async ({ db }, { account }) => listSignIns(db, await findAccount(db, account)),
  }),
  'accounts sign-out': verb({
    summary: 'End all sessions of an account; also remove its passkeys and outside identities',
    fields: {
      account: ACCOUNT,
      only_sessions: flag('End the sessions, and keep its passkeys and outside identities.'),
    },
    positional: ['account'],
    reason: 'required',
    dialog: {
      title: 'Sign out everywhere',
      effect:
        'Its sessions end, and its passkeys and outside identities are removed: one of ' +
        'them may be a thief’s. Its person signs in by a mailed code. API keys stay.',
      isDangerous: true,
    },
    run: ({ db }, input, action) => signOutByOperator(db, action, input),
  }),
  'accounts remove-passkey': verb({
    summary: 'Remove one passkey of an account, named by its id in accounts sessions',
    fields: {
      account: ACCOUNT,
      passkey: text('The id of the passkey.', { word: 'ID', max: 1400 }),
    },
    positional: ['account'],
    reason: 'required',
    dialog: {
      title: 'Remove the passkey',
      effect: 'It can no longer be used to sign in.',
      isDangerous: true,
    },
    run: async ({ db }, { account, passkey }, action) => {
      const target = await findAccount(db, account);
      const id = storable(passkey);
      return performAction(db, action, { target, details: { passkey: id } }, async (tx) => {
        await lockAccount(tx, target);
        const changed = await removePasskey(tx, id, target);
        return { account_id: target, passkey, changed };
      });
    },
  }),
  'accounts erase': verb({
    summary: 'Remove the personal data of a disabled account for good; its transfers stay',
    ...OF_ACCOUNT,
    reason: 'required',
    dialog: {
      title: 'Erase the account',
      effect:
        'Its address, prompts, videos and the names of its keys are removed for good. Its ' +
        'transfers of credits stay. This can’t be undone.',
      isDangerous: true,
    },
    run: async ({ db }, { account }, action) =>
      eraseAccount(db, action, await findAccount(db, account)),
  }),
  'accounts list': verb({
    summary: 'List accounts, the newest first; with --find those with TEXT in their address',
    fields: { find: optional(text('A part of the e-mail address, or the id.', { max: 254 })) },
    cursorOf: (row: { account_id: string }) => row.account_id,
    run: async ({ db, page: { limit, after } }, { find }) => {
      const last = after === undefined ? undefined : await findAccount(db, after);
      return listAccounts(db, last ?? null, limit, find ?? null);
    },
    runOnConsole: async (run, { db }) => withAvailable(db, await run()),
  }),
  'accounts show': verb({
    summary: 'Show an account: its state, credits, number of valid keys, and tasks by phase',
    ...OF_ACCOUNT,
    run: async ({ db }, { account }) => showAccount(db, await findAccount(db, account)),
  }),
};

export async function showAccount(db: Database, accountId: string) {
  const account = await readAccount(db, accountId);
  if (!account) throw new UsageError(`there is no account ${JSON.stringify(accountId)}`);
  return {
    ...account,
    paused_until: await accountPausedUntil(db, accountId),
    valid_keys: account.disabled_at === null ? await countValidKeys(db, accountId) : 0,
    ...(await readBalances(db, accountId)),
    tasks: await countTasks(db, accountId),
  };
}

/**
 * Disables an account: its API keys get 401, and its sessions end for good. Its tasks continue, and
 * a worker closes its open payment pages. If its owner closed it, the coming erasure is cancelled.
 */
export async function disableByOperator(db: Database, action: Action, account: string) {
  const target = await findAccount(db, account);
  return performAction(db, action, { target }, (tx) => disableIn(tx, target));
}

export async function disableIn(tx: Transaction, accountId: string) {
  const isDisabled = await disableAccount(tx, accountId);
  const changed = (await withdrawClosing(tx, accountId)) || isDisabled;
  await endSessions(tx, accountId);
  await wakePayments(tx, accountId);
  return { account_id: accountId, disabled: true, changed };
}

/** Enables a disabled account. If its owner closed it, the coming erasure is cancelled. */
export async function enableByOperator(db: Database, action: Action, account: string) {
  const target = await findAccount(db, account);
  return performAction(db, action, { target }, async (tx) => {
    const changed = await enableAccount(tx, target);
    await withdrawDeletion(tx, target);
    await wakePayments(tx, target); // so that its plan is renewed again
    return { account_id: target, disabled: false, changed };
  });
}

/** An account's sessions, and its ways to sign in besides a mailed code. */
export async function listSignIns(db: Database, accountId: string) {
  return {
    sessions: await listSessions(db, accountId),
    passkeys: await listPasskeys(db, accountId),
    identities: await listIdentities(db, accountId),
  };
}

/**
 * Ends all sessions of an account, and removes its passkeys and outside identities: any of them may
 * be a thief's. The account is locked first, so that nothing a session adds meanwhile survives.
 */
export async function signOutByOperator(
  db: Database,
  action: Action,
  { account, only_sessions: keepsOthers }: { account: string; only_sessions: boolean },
) {
  const target = await findAccount(db, account);
  return performAction(db, action, { target }, async (tx) => {
    await lockAccount(tx, target);
    const { length: ended_sessions } = await endSessions(tx, target);
    const { length: removed_passkeys } = keepsOthers ? [] : await removePasskeys(tx, target);
    const { length: removed_identities } = keepsOthers ? [] : await removeIdentities(tx, target);
    const changed = ended_sessions + removed_passkeys + removed_identities > 0;
    return { account_id: target, ended_sessions, removed_passkeys, removed_identities, changed };
  });
}
