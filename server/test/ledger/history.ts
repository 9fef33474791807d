import assert from 'node:assert/strict';
import { type Database, violatedConstraint } from '../../src/database/database.ts';
import { ApiError, UsageError } from '../../src/kernel/errors.ts';
import { adjust, balances, grant, settle } from '../../src/ledger/ledger.ts';
import type { KindBalances } from '../../src/ledger/overview.ts';
import type { CreditKind } from '../../src/ledger/transfer.ts';
import { reserve } from './reserve.ts';

/** A grant or an adjustment of credits. References are small numbers, so they repeat. */
interface GrantOrAdjustment {
  type: 'grant' | 'adjust';
  accountId: string;
  kind: CreditKind;
  credits: number;
  reference: number;
}

/** A task's reservation, or what settles it. Tasks are small numbers, so they repeat. */
export interface TaskMovement {
  type: 'reserve' | 'capture' | 'refund';
  accountId: string;
  task: number;
  credits: number;
}

export type Movement = GrantOrAdjustment | TaskMovement;
export type LedgerRequest = Movement | { type: 'read'; accountId: string };

/**
 * What the ledger returned. booked: now; repeated: booked before, with the same values; conflict:
 * its name belongs to another movement (or, for reservations and settlements, to this one, booked
 * before); insufficient: not enough credits.
 */
type CallResult = 'booked' | 'repeated' | 'conflict' | 'insufficient' | Balances;
type Balances = Record<CreditKind, KindBalances>;

/** A call as its client saw it. All clients share one clock, which counts the events. */
export interface LedgerCall {
  request: LedgerRequest;
  sentAt: number;
  receivedAt: number;
  result: CallResult;
}

/** The calls of several clients of one ledger, with their results. */
export interface LedgerHistory {
  calls: LedgerCall[];
  /** Makes a call on a database connection, and records it. */
  call(db: Database, request: LedgerRequest): Promise<CallResult>;
}

/** @param prefix keeps the references of this history apart from others in the database */
export function createHistory(prefix: string): LedgerHistory {
  const calls: LedgerCall[] = [];
  let moment = 0;
  return {
    calls,
    async call(db, request) {
      moment += 1;
      const sentAt = moment;
      const result = await resultOf(db, prefix, request);
      moment += 1;
      calls.push({ request, sentAt, receivedAt: moment, result });
      return result;
    },
  };
}

async function resultOf(db: Database, prefix: string, request: LedgerRequest): Promise<CallResult> {
  try {
    if (request.type === 'read') return await balances(db, request.accountId);
    return (await book(db, prefix, request)) ? 'booked' : 'repeated';
  } catch (error) {
    return refusalOf(request, error);
  }
}

async function book(db: Database, prefix: string, movement: Movement): Promise<boolean> {
  const { accountId, credits } = movement;
  if ('reference' in movement) {
    const { kind, reference } = movement;
    const given = { accountId, credits, kind, reference: prefix + reference };
    return movement.type === 'grant' ? grant(db, given) : adjust(db, { ...given, note: 'a test' });
  }
  const reservation = { accountId, taskId: prefix + movement.task, credits };
  const { type } = movement;
  await db.transaction<unknown>((tx) =>
    type === 'reserve' ? reserve(tx, reservation) : settle(tx, type, [reservation]),
  );
  return true;
}

/** @throws AssertionError for an error that is not a refusal */
function refusalOf(request: LedgerRequest, error: unknown): CallResult {
  if (error instanceof ApiError && error.code === 'insufficient_credits') return 'insufficient';
  const { message } = error instanceof UsageError ? error : { message: '' };
  if (/fewer available credits/.test(message)) return 'insufficient';
  if (/used with other values/.test(message)) return 'conflict';
  const constraint = violatedConstraint(error);
  if (constraint === 'ledger_transfers_reference_key') return 'conflict';
  // A second settlement may meet the balance before it meets the reference of the first.
  if (constraint === 'reserved_not_negative') return 'conflict';
  assert.fail(`${JSON.stringify(request)}: ${error}`);
}

/** The name of a movement in the ledger, which books at most one movement of a name. */
export function movementName(movement: Movement): string {
  if ('reference' in movement) return `${movement.type}:${movement.reference}`;
  return `${movement.type === 'reserve' ? 'reserve' : 'settle'}:${movement.task}`;
}
