import { listAccounts } from '../../accounts/account-listing.ts';
import { createAccount, findAccount } from '../../accounts/accounts.ts';
import type { Transaction } from '../../database/database.ts';
import { withAvailable } from '../../ledger/overview.ts';
import { showAccount } from '../account-listing.ts';
import { disableByOperator, enableByOperator } from '../accounts/disabling.ts';
import { removePasskeyByOperator, signOutByOperator, waysIn } from '../accounts/signing-out.ts';
import { recordAction } from '../actions.ts';
import { eraseAccount } from '../erasure/erase.ts';
import { flag, optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';
import { ACCOUNT } from './subjects.ts';

const OF_ACCOUNT = { fields: { account: ACCOUNT }, words: ['account'] } as const;

export const ACCOUNTS = {
  'accounts create': verb({
    summary: 'Create an account with no credits',
    fields: { email: text('The e-mail address of its owner.', { word: 'EMAIL', max: 254 }) },
    words: ['email'],
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
  'accounts sessions': verb({
    summary:
      'List where an account is signed in on the website, its passkeys and outside identities',
    ...OF_ACCOUNT,
    run: async ({ db }, { account }) => waysIn(db, await findAccount(db, account)),
  }),
  'accounts sign-out': verb({
    summary: 'End all sessions of an account; also remove its passkeys and outside identities',
    fields: {
      account: ACCOUNT,
      only_sessions: flag('End the sessions, and keep its passkeys and outside identities.'),
    },
    words: ['account'],
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
    words: ['account'],
    reason: 'required',
    dialog: {
      title: 'Remove the passkey',
      effect: 'It can no longer be used to sign in.',
      isDangerous: true,
    },
    run: ({ db }, input, action) => removePasskeyByOperator(db, action, input),
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
      return listAccounts(db, { after: last, find, limit });
    },
    runOnConsole: async (run, { db }) => withAvailable(db, await run()),
  }),
  'accounts show': verb({
    summary: 'Show an account: its state, credits, number of valid keys, and tasks by phase',
    ...OF_ACCOUNT,
    run: async ({ db }, { account }) => showAccount(db, await findAccount(db, account)),
  }),
};
