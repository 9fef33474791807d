import { findAccount } from '../../accounts/accounts.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { adjust, balances, type CreditKind, type Grant, grant } from '../../ledger/ledger.ts';
import { recordAction } from '../../operator/actions.ts';
import { type Arguments, type Command, requiredOption } from '../command.ts';

export const CREDIT_COMMANDS: readonly Command[] = [
  {
    usage: 'credits grant ACCOUNT CREDITS --kind paid|promotional --reference REF',
    summary: 'Give credits, once per reference',
    options: ['kind', 'reference'],
    reason: 'optional',
    run: async (db, args) => {
      const movement = await readMovement(db, args);
      return shown(db, movement, await grant(db, movement, recordOf(args, movement)));
    },
  },
  {
    usage: 'credits adjust ACCOUNT ±CREDITS --kind KIND --reference REF --reason TEXT',
    summary: 'Correct a balance up or down, once per reference',
    options: ['kind', 'reference'],
    reason: 'required',
    run: async (db, args) => {
      const movement = await readMovement(db, args);
      const change = { ...movement, note: requiredOption(args.options, 'reason') };
      return shown(db, movement, await adjust(db, change, recordOf(args, movement)));
    },
  },
  {
    usage: 'credits show ACCOUNT',
    summary: 'Show available and reserved credits, paid and promotional',
    options: [],
    run: async (db, { words: [account = ''] }) => balances(db, await findAccount(db, account)),
  },
];

async function readMovement(db: Database, { words, options }: Arguments): Promise<Grant> {
  const [account = '', amount = ''] = words;
  return {
    accountId: await findAccount(db, account),
    credits: readCredits(amount),
    kind: readKind(options.kind),
    reference: requiredOption(options, 'reference'),
  };
}

/** Records the movement as an action, within the transaction that books it. */
function recordOf({ action }: Arguments, { accountId: target, ...details }: Grant) {
  return (tx: Transaction) => recordAction(tx, action, { target, details });
}

function readCredits(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  throw new UsageError(`${JSON.stringify(text)} is not a whole number of credits`);
}

function readKind(text: string | undefined): CreditKind {
  if (text === 'paid' || text === 'promotional') return text;
  throw new UsageError('--kind must be paid or promotional');
}

/** The result to print. `booked` is false if the same grant or adjustment was booked before. */
async function shown(db: Database, { accountId }: Grant, booked: boolean) {
  return { account_id: accountId, ...(await balances(db, accountId)), booked };
}
