import { findAccount } from '../../accounts/accounts.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { clawBack } from '../../ledger/debts.ts';
import { adjust, type Grant, grant } from '../../ledger/ledger.ts';
import { readBalances, readOverview } from '../../ledger/overview.ts';
import { MOVEMENT_COLUMNS, openStatement } from '../../ledger/statement.ts';
import { testBalance } from '../../ledger/test-credits.ts';
import { type Action, recordAction } from '../actions.ts';
import { ACCOUNT, choiceOf, flag, KIND, optional, text, time, whole } from '../verb/fields.ts';
import { RowStream, verb } from '../verb/verb.ts';

const MAX_CREDITS = 1_000_000_000;
const CREDITS = whole('How many credits: a whole number above zero.', {
  word: 'CREDITS',
  min: 1,
  max: MAX_CREDITS,
});
const REFERENCE = text('Your name for it, such as the number of an invoice; booked only once.', {
  word: 'REF',
  max: 100,
});
const SHORT_KIND = { ...KIND, word: 'KIND' }; // keeps the usage on one line
const ANY_KIND = choiceOf(
  'The kind of the credits; without it, paid and promotional ones.',
  ['paid', 'promotional', 'test'],
  { word: 'KIND' },
);
const MOVEMENT = { account: ACCOUNT, credits: CREDITS, kind: KIND, reference: REFERENCE };

export const CREDITS_VERBS = {
  'credits grant': verb({
    summary: 'Give credits, once per reference; what is left of them may expire',
    fields: {
      ...MOVEMENT,
      expires_at: optional(time('When the credits that are left expire; without it, never.')),
    },
    positional: ['account', 'credits'],
    reason: 'optional',
    dialog: {
      title: 'Grant credits',
      effect: 'If the account owes credits, these are paid first.',
    },
    run: async ({ db }, { expires_at: expiresAt, ...given }, action) => {
      const movement = { ...(await movementOf(db, given)), expiresAt };
      return shown(db, movement, await grant(db, movement, recordOf(action, movement)));
    },
  }),
  'credits adjust': verb({
    summary: 'Correct a balance up or down, once per reference; the customer sees the reason',
    fields: {
      ...MOVEMENT,
      credits: whole('How many credits: above zero to give, below zero to take.', {
        word: '±CREDITS',
        min: -MAX_CREDITS,
        max: MAX_CREDITS,
      }),
      kind: SHORT_KIND,
    },
    positional: ['account', 'credits'],
    reason: 'required',
    dialog: { title: 'Adjust the credits' },
    run: async ({ db }, given, action) => {
      const movement = await movementOf(db, given);
      const change = { ...movement, note: action.reason ?? '' };
      return shown(db, movement, await adjust(db, change, recordOf(action, movement)));
    },
  }),
  'credits clawback': verb({
    summary: 'Take back credits of a refunded payment; what is used already becomes a debt',
    fields: {
      account: ACCOUNT,
      credits: CREDITS,
      payment: text('The reference of the grant that the payment was for.', { word: 'GRANT_REF' }),
      reference: REFERENCE,
    },
    positional: ['account', 'credits'],
    reason: 'required',
    dialog: { title: 'Claw credits back', isDangerous: true },
    run: async ({ db }, { account, ...given }, action) => {
      const accountId = await findAccount(db, account);
      const record = (tx: Transaction) =>
        recordAction(tx, action, { target: accountId, details: given });
      const wanted = { accountId, ...given, note: action.reason ?? '' };
      const { booked, kind } = await clawBack(db, wanted, record);
      const { [kind]: balance } = await readOverview(db, accountId);
      return { account_id: accountId, kind, ...balance, booked };
    },
  }),
  'credits statement': verb({
    summary: 'Show every movement of credits with the balances after it, and totals',
    fields: {
      account: ACCOUNT,
      kind: optional(ANY_KIND),
      from: optional(time('Only movements from then on.')),
      until: optional(time('Only movements before.')),
      csv: flag('Print comma-separated values, without the totals.'),
    },
    positional: ['account'],
    notOnConsole: 'the page of an account shows it, fifty movements at a time',
    run: async ({ db }, { account, kind, from, until, csv: isCsv }) => {
      const accountId = await findAccount(db, account);
      const kinds = kind === undefined ? (['paid', 'promotional'] as const) : [kind];
      const { movements, totals } = await openStatement(db, accountId, { kinds, from, until });
      return new RowStream({
        name: 'movements',
        columns: MOVEMENT_COLUMNS,
        rows: movements,
        isCsv,
        summary: () => ({ account_id: accountId, totals: totals() }),
      });
    },
  }),
  'credits show': verb({
    summary: 'Show available and reserved credits, debts, and the credits that expire',
    fields: { account: ACCOUNT },
    positional: ['account'],
    run: async ({ db }, { account }) => {
      const accountId = await findAccount(db, account);
      const { lots, ...live } = await readOverview(db, accountId);
      const test = await testBalance(db, accountId);
      return { account_id: accountId, ...live, test, lots };
    },
  }),
};

async function movementOf(
  db: Database,
  { account, credits, kind, reference }: Omit<Grant, 'accountId'> & { account: string },
): Promise<Grant> {
  return { accountId: await findAccount(db, account), credits, kind, reference };
}

function recordOf(action: Action, { accountId: target, ...details }: Grant) {
  return (tx: Transaction) => recordAction(tx, action, { target, details });
}

/** The result to print. `booked` is false if the same grant or adjustment was booked before. */
async function shown(db: Database, { accountId }: Grant, booked: boolean) {
  return { account_id: accountId, ...(await readBalances(db, accountId)), booked };
}
