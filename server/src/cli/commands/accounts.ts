import { createAccount, findAccount } from '../../accounts/accounts.ts';
import type { Transaction } from '../../database/database.ts';
import { listAccounts, showAccount } from '../../operator/account-listing.ts';
import { performAction, recordAction } from '../../operator/actions.ts';
import { disableByOperator, enableByOperator } from '../../operator/disabling.ts';
import { eraseAccount } from '../../operator/erasure/erase.ts';
import { endSessions, listSessions } from '../../sign-in/sessions.ts';
import type { Command } from '../command.ts';

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
    summary: 'List where an account is signed in on the website',
    options: [],
    run: async (db, { words: [account = ''] }) => ({
      sessions: await listSessions(db, await findAccount(db, account)),
    }),
  },
  {
    usage: 'accounts sign-out ACCOUNT --reason TEXT',
    summary: 'End all sessions of an account on the website; it can sign in again',
    options: [],
    reason: 'required',
    run: async (db, { words: [account = ''], action }) => {
      const target = await findAccount(db, account);
      return performAction(db, action, { target }, async (tx) => {
        const sessions = await endSessions(tx, target);
        return { account_id: target, ended_sessions: sessions, changed: sessions > 0 };
      });
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
