import { findAccount } from '../../accounts/accounts.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { clawBack } from '../../ledger/debts.ts';
import { adjust, type Grant, grant } from '../../ledger/ledger.ts';
import { readBalances, readOverview } from '../../ledger/overview.ts';
import { MOVEMENT_COLUMNS, openStatement } from '../../ledger/statements/account-statement.ts';
import type { CreditKind } from '../../ledger/transfer.ts';
import { recordAction } from '../../operator/actions.ts';
import { type Arguments, type Command, readTime, requiredOption } from '../command.ts';
import { RowStream } from '../row-stream.ts';

export const CREDIT_COMMANDS: readonly Command[] = [
  {
    usage:
      'credits grant ACCOUNT CREDITS --kind paid|promotional --reference REF [--expires-at ISO]',
    summary: 'Give credits, once per reference; what is left of them may expire',
    options: ['kind', 'reference', 'expires-at'],
    reason: 'optional',
    run: async (db, args) => {
      const expiresAt = readTime(args.options, 'expires-at');
      const movement = { ...(await readMovement(db, args)), expiresAt };
      return shown(db, movement, await grant(db, movement, recordOf(args, movement)));
    },
  },
  {
    usage: 'credits adjust ACCOUNT ±CREDITS --kind KIND --reference REF --reason TEXT',
    summary: 'Correct a balance up or down, once per reference; the customer sees the reason',
    options: ['kind', 'reference'],
    reason: 'required',
    run: async (db, args) => {
      const movement = await readMovement(db, args);
      const change = { ...movement, note: requiredOption(args.options, 'reason') };
      return shown(db, movement, await adjust(db, change, recordOf(args, movement)));
    },
  },
  {
    usage: 'credits clawback ACCOUNT CREDITS --payment GRANT_REF --reference REF --reason TEXT',
    summary: 'Take back credits of a refunded payment; what is used already becomes a debt',
    options: ['payment', 'reference'],
    reason: 'required',
    run: async (db, args) => takeBack(db, args),
  },
  {
    usage: 'credits statement ACCOUNT [--kind KIND] [--from ISO] [--until ISO] [--csv]',
    summary: 'Show every movement of credits with the balances after it, and totals',
    options: ['kind', 'from', 'until'],
    flags: ['csv'],
    run: statementOf,
  },
  {
    usage: 'credits show ACCOUNT',
    summary: 'Show available and reserved credits, debts, and the credits that expire',
    options: [],
    run: async (db, { words: [account = ''] }) => {
      const accountId = await findAccount(db, account);
      return { account_id: accountId, ...(await readOverview(db, accountId)) };
    },
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

async function statementOf(db: Database, { words: [account = ''], options }: Arguments) {
  const accountId = await findAccount(db, account);
  const { movements, totals } = await openStatement(db, accountId, {
    kinds: options.kind === undefined ? ['paid', 'promotional'] : [readKind(options.kind)],
    from: readTime(options, 'from'),
    until: readTime(options, 'until'),
  });
  const isCsv = options.csv !== undefined;
  const rows = { name: 'movements', columns: MOVEMENT_COLUMNS, rows: movements, isCsv };
  return new RowStream(rows, () => ({ account_id: accountId, totals: totals() }));
}

async function takeBack(db: Database, { words, options, action }: Arguments) {
  const [account = '', amount = ''] = words;
  const accountId = await findAccount(db, account);
  const wanted = {
    accountId,
    credits: readCredits(amount),
    payment: requiredOption(options, 'payment'),
    reference: requiredOption(options, 'reference'),
    note: requiredOption(options, 'reason'),
  };
  const { accountId: target, note: _, ...details } = wanted;
  const record = (tx: Transaction) => recordAction(tx, action, { target, details });
  const { booked, kind } = await clawBack(db, wanted, record);
  const { [kind]: balance } = await readOverview(db, accountId);
  return { account_id: accountId, kind, ...balance, booked };
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
  return { account_id: accountId, ...(await readBalances(db, accountId)), booked };
}
