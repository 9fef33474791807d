import { createAccount, findAccount } from '../../accounts/accounts.ts';
import type { Transaction } from '../../database/database.ts';
import { listAccounts, showAccount } from '../../operator/account-listing.ts';
import { disableByOperator, enableByOperator } from '../../operator/accounts/disabling.ts';
import {
  removePasskeyByOperator,
  signOutByOperator,
  waysIn,
} from '../../operator/accounts/signing-out.ts';
import { recordAction } from '../../operator/actions.ts';
import { eraseAccount } from '../../operator/erasure/erase.ts';
import { type Command, requiredOption } from '../command.ts';

export const ACCOUNT_COMMANDS: readonly Command[] = [
  {
    usage: 'accounts create EMAIL',
    summary: 'Create an account with no credits',
    options: [],
    reason: 'optional',
    run: async (db, { words: [email = ''], action }) => {
      const record = (tx: Transaction, target: string) => recordAction(tx, action, { target });
      return { account_id: await createAccount(db, email, record) };
    },
  },
  {
    usage: 'accounts disable ACCOUNT',
    summary: 'Respond 401 to all keys and sessions of an account from now on; its tasks continue',
    options: [],
    reason: 'optional',
    run: (db, { words: [account = ''], action }) => disableByOperator(db, action, account),
  },
  {
    usage: 'accounts enable ACCOUNT --reason TEXT',
    summary: 'Accept the keys of a disabled account again, except revoked and expired ones',
    options: [],
    reason: 'required',
    run: (db, { words: [account = ''], action }) => enableByOperator(db, action, account),
  },
  {
    usage: 'accounts sessions ACCOUNT',
    summary:
      'List where an account is signed in on the website, its passkeys and outside identities',
    options: [],
    run: async (db, { words: [account = ''] }) => waysIn(db, await findAccount(db, account)),
  },
  {
    usage: 'accounts sign-out ACCOUNT [--only-sessions] --reason TEXT',
    summary: 'End all sessions of an account; also remove its passkeys and outside identities',
    options: [],
    flags: ['only-sessions'],
    reason: 'required',
    run: (db, { words: [account = ''], options, action }) =>
      signOutByOperator(db, action, {
        account,
        onlySessions: options['only-sessions'] !== undefined,
      }),
  },
  {
    usage: 'accounts remove-passkey ACCOUNT --passkey ID --reason TEXT',
    summary: 'Remove one passkey of an account, named by its id in accounts sessions',
    options: ['passkey'],
    reason: 'required',
    run: (db, { words: [account = ''], options, action }) => {
      const passkey = requiredOption(options, 'passkey');
      return removePasskeyByOperator(db, action, { account, passkey });
    },
  },
  {
    usage: 'accounts erase ACCOUNT --reason TEXT',
    summary: 'Remove the personal data of a disabled account for good; its transfers stay',
    options: [],
    reason: 'required',
    run: async (db, { words: [account = ''], action }) =>
      eraseAccount(db, action, await findAccount(db, account)),
  },
  {
    usage: 'accounts list [--find TEXT]',
    summary: 'List accounts, the newest first; with --find those with TEXT in their address',
    options: ['find'],
    cursorOf: (row: { account_id: string }) => row.account_id,
    run: async (db, { options: { find }, page: { limit, after } }) => {
      const last = after === undefined ? undefined : await findAccount(db, after);
      return listAccounts(db, { after: last, find, limit });
    },
  },
  {
    usage: 'accounts show ACCOUNT',
    summary: 'Show an account: its state, credits, number of valid keys, and tasks by phase',
    options: [],
    run: async (db, { words: [account = ''] }) => showAccount(db, await findAccount(db, account)),
  },
];
