import assert from 'node:assert/strict';
import type { Database } from '../../src/database/database.ts';
import { isDatabaseUnavailable, violatedConstraint } from '../../src/database/database.ts';
import { ApiError, UsageError } from '../../src/kernel/errors.ts';
import {
  adjust,
  type Balance,
  balances,
  type CreditKind,
  grant,
  reserve,
  settle,
} from '../../src/ledger/ledger.ts';

/** Credits given or corrected. References are small numbers, so they repeat. */
export interface Gift {
  type: 'grant' | 'adjust';
  accountId: string;
  kind: CreditKind;
  credits: number;
  reference: number;
}

/** A task's credits reserved, spent or given back. Tasks are small numbers, so they repeat. */
export interface Reserve {
  type: 'reserve' | 'capture' | 'refund';
  accountId: string;
  task: number;
  credits: number;
}

export type Move = Gift | Reserve;
export type Asked = Move | { type: 'read'; accountId: string };

/**
 * What the ledger answered. booked: now; repeated: before, with the same values; taken: its name
 * belongs to another movement (or, for holds and settlements, to this one, earlier); short: not
 * enough credits; lost: no answer came, so nobody told whether it happened.
 */
export type Told = 'booked' | 'repeated' | 'taken' | 'short' | 'lost' | Balances;
export type Balances = Record<CreditKind, Balance>;

/** A call as its client saw it: asked and answered at moments that all clients agree on. */
export interface Call {
  asked: Asked;
  askedAt: number;
  /** Infinity when the answer was lost: it may take effect at any time after `askedAt`. */
  toldAt: number;
  told: Told;
}

/** What several clients of one ledger asked and were told. */
export interface History {
  calls: Call[];
  /** Asks on a database and takes the answer down. */
  ask(db: Database, asked: Asked): Promise<Told>;
}

/** @param prefix sets the references of this history apart from all others in the database */
export function createHistory(prefix: string): History {
  const calls: Call[] = [];
  let moment = 0;
  return {
    calls,
    async ask(db, asked) {
      moment += 1;
      const askedAt = moment;
      const call: Call = { asked, askedAt, toldAt: Number.POSITIVE_INFINITY, told: 'lost' };
      calls.push(call);
      call.told = await answerTo(db, prefix, asked);
      moment += 1;
      if (call.told !== 'lost') call.toldAt = moment;
      return call.told;
    },
  };
}

async function answerTo(db: Database, prefix: string, asked: Asked): Promise<Told> {
  try {
    if (asked.type === 'read') return await balances(db, asked.accountId);
    return (await book(db, prefix, asked)) ? 'booked' : 'repeated';
  } catch (error) {
    return refusalOf(asked, error);
  }
}

async function book(db: Database, prefix: string, move: Move): Promise<boolean> {
  const { accountId, credits } = move;
  if ('reference' in move) {
    const given = { accountId, credits, kind: move.kind, reference: prefix + move.reference };
    return move.type === 'grant' ? grant(db, given) : adjust(db, { ...given, note: 'a test' });
  }
  const reservation = { accountId, taskId: prefix + move.task, credits };
  const { type } = move;
  await db.transaction((tx) =>
    type === 'reserve' ? reserve(tx, reservation) : settle(tx, { ...reservation, outcome: type }),
  );
  return true;
}

/** Sorts refusals; whatever is none of them is a failure and thrown again. */
function refusalOf(asked: Asked, error: unknown): Told {
  if (error instanceof ApiError && error.code === 'insufficient_credits') return 'short';
  if (error instanceof UsageError && /fewer available credits/.test(error.message)) return 'short';
  if (error instanceof UsageError && /used with other values/.test(error.message)) return 'taken';
  const constraint = violatedConstraint(error);
  if (constraint === 'ledger_transfers_reference_key') return 'taken';
  // A second settlement may meet the balance before it meets the reference of the first.
  if (constraint === 'reserved_not_negative') return 'taken';
  if (isDatabaseUnavailable(error)) return 'lost';
  assert.fail(`${JSON.stringify(asked)}: ${error}`);
}

/** What names a movement in the ledger: no two of the same name are ever booked. */
export function nameOf(move: Move): string {
  if ('reference' in move) return `${move.type}:${move.reference}`;
  return `${move.type === 'reserve' ? 'reserve' : 'settle'}:${move.task}`;
}
