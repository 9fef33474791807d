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
export interface GrantOrAdjustment {
  type: 'grant' | 'adjust';
  accountId: string;
  kind: CreditKind;
  credits: number;
  reference: number;
}

/** A task's credits reserved, spent or given back. Tasks are small numbers, so they repeat. */
export interface TaskMovement {
  type: 'reserve' | 'capture' | 'refund';
  accountId: string;
  task: number;
  credits: number;
}

export type Movement = GrantOrAdjustment | TaskMovement;
export type LedgerRequest = Movement | { type: 'read'; accountId: string };

/**
 * What the ledger answered. booked: now; repeated: before, with the same values; taken: its name
 * belongs to another movement (or, for holds and settlements, to this one, earlier); short: not
 * enough credits; lost: no answer came, so nobody told whether it happened.
 */
export type CallResult = 'booked' | 'repeated' | 'conflict' | 'insufficient' | 'lost' | Balances;
export type Balances = Record<CreditKind, Balance>;

/** A call as its client saw it: asked and answered at moments that all clients agree on. */
export interface LedgerCall {
  request: LedgerRequest;
  sentAt: number;
  /** Infinity when the answer was lost: it may take effect at any time after `askedAt`. */
  receivedAt: number;
  result: CallResult;
}

/** What several clients of one ledger asked and were told. */
export interface LedgerHistory {
  calls: LedgerCall[];
  /** Asks on a database and takes the answer down. */
  call(db: Database, request: LedgerRequest): Promise<CallResult>;
}

/** @param prefix sets the references of this history apart from all others in the database */
export function createHistory(prefix: string): LedgerHistory {
  const calls: LedgerCall[] = [];
  let moment = 0;
  return {
    calls,
    async call(db, request) {
      moment += 1;
      const sentAt = moment;
      const call: LedgerCall = {
        request,
        sentAt,
        receivedAt: Number.POSITIVE_INFINITY,
        result: 'lost',
      };
      calls.push(call);
      call.result = await resultOf(db, prefix, request);
      moment += 1;
      if (call.result !== 'lost') call.receivedAt = moment;
      return call.result;
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
    const given = {
      accountId,
      credits,
      kind: movement.kind,
      reference: prefix + movement.reference,
    };
    return movement.type === 'grant' ? grant(db, given) : adjust(db, { ...given, note: 'a test' });
  }
  const reservation = { accountId, taskId: prefix + movement.task, credits };
  const { type } = movement;
  await db.transaction((tx) =>
    type === 'reserve' ? reserve(tx, reservation) : settle(tx, { ...reservation, outcome: type }),
  );
  return true;
}

/** Sorts refusals; whatever is none of them is a failure and thrown again. */
function refusalOf(request: LedgerRequest, error: unknown): CallResult {
  if (error instanceof ApiError && error.code === 'insufficient_credits') return 'insufficient';
  if (error instanceof UsageError && /fewer available credits/.test(error.message))
    return 'insufficient';
  if (error instanceof UsageError && /used with other values/.test(error.message))
    return 'conflict';
  const constraint = violatedConstraint(error);
  if (constraint === 'ledger_transfers_reference_key') return 'conflict';
  // A second settlement may meet the balance before it meets the reference of the first.
  if (constraint === 'reserved_not_negative') return 'conflict';
  if (isDatabaseUnavailable(error)) return 'lost';
  assert.fail(`${JSON.stringify(request)}: ${error}`);
}

/** What names a movement in the ledger: no two of the same name are ever booked. */
export function movementName(movement: Movement): string {
  if ('reference' in movement) return `${movement.type}:${movement.reference}`;
  return `${movement.type === 'reserve' ? 'reserve' : 'settle'}:${movement.task}`;
}
