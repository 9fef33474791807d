import { isDatabaseUnavailable } from '../../database/database.ts';
import { batch } from '../../kernel/batch.ts';
import { ApiError } from '../../kernel/errors.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { namesUploads } from '../../uploads/uploads.ts';
import {
  type CreateDeps,
  type Created,
  createAccountGroup,
  createGroup,
  failedCreate,
} from './create-group.ts';
import { type CheckedRequest, WEB_SURFACE } from './new-task.ts';

/** How many transactions for creates of many accounts a process may run at once. */
const MAX_TRANSACTIONS = 2;
/** How many transactions may wait for locks of others. Each has a connection. */
const MAX_WAITING_TRANSACTIONS = 4;
const BUSY =
  'Too many requests are waiting. Send the request again, with the same Idempotency-Key.';

const LIMITS = {
  /** Creates of one transaction. */
  maxItems: 64,
  /** Creates that may wait for a transaction in a process. */
  maxWaiting: 5000,
  tooMany: () => new ApiError('service_busy', BUSY, { retryAfterSeconds: 1 }),
};

/**
 * Makes a function that creates the task of a valid request, or returns the task that the request's
 * key belongs to. Identical creates that run at the same time reserve once and share one task.
 *
 * Creates that arrive together share a transaction (decisions/0020), which waits for no other. A
 * create that may have to wait, shares one with those of its account only.
 *
 * The function throws ApiError `insufficient_credits`, `idempotency_conflict`; `service_busy` for a
 * failure of the service itself, since the reserve may have been committed (C8).
 */
export function openCreates(deps: CreateDeps): (checked: CheckedRequest) => Promise<Created> {
  const lanes = openLanes(deps);
  const createFree = batch<CheckedRequest, Created | ApiError | undefined>({
    ...LIMITS,
    name: 'create',
    concurrency: MAX_TRANSACTIONS,
    keyOf,
    laneOf: accountOf,
    work: (requests) => createGroup(deps, requests, 'skip'),
  });
  const tryFree = async (checked: CheckedRequest) => {
    if (mayWait(checked) || lanes.has(accountOf(checked))) return undefined;
    return createFree(checked).catch((error: unknown) => {
      if (error instanceof ApiError) throw error;
      // It may have committed.
      if (isDatabaseUnavailable(error)) throw failedCreate(deps.log, error);
      deps.log.warn({ err: error }, 'creates that shared a transaction are done one by one');
      return undefined;
    });
  };
  return async (checked) => {
    const outcome = (await tryFree(checked)) ?? (await lanes.create(checked));
    if (outcome instanceof ApiError) throw outcome;
    return outcome;
  };
}

/** Whether a create needs more than a new key and a balance of paid credits. */
function mayWait({ binding: { surface, apiKey }, request }: CheckedRequest): boolean {
  if (surface === WEB_SURFACE || surface === TEST_SURFACE) return true;
  return apiKey?.hasCap || namesUploads(request);
}

const accountOf = ({ binding }: CheckedRequest) => binding.accountId;

/** Two requests with one key are never in one transaction. */
function keyOf({ binding: { accountId, surface, idempotencyKey } }: CheckedRequest): string {
  return `${accountId} ${surface} ${idempotencyKey}`;
}

/** The creates of an account that wait. */
interface Lane {
  creates: number;
  /** What the database did not give in time is not waited for again by those behind. */
  gaveUp?: ApiError;
}

/** Makes the lanes in which creates wait: one transaction at a time for each account. */
function openLanes(deps: CreateDeps) {
  const lanes = new Map<string, Lane>();
  const create = batch<{ checked: CheckedRequest; lane: Lane }, Created | ApiError>({
    ...LIMITS,
    name: 'create_waiting',
    concurrency: MAX_WAITING_TRANSACTIONS,
    keyOf: ({ checked }) => keyOf(checked),
    laneOf: ({ checked }) => accountOf(checked),
    isOfOneLane: true,
    async work(items) {
      const lane = items[0]?.lane;
      if (lane?.gaveUp) throw lane.gaveUp;
      try {
        return await createAccountGroup(
          deps,
          items.map(({ checked }) => checked),
        );
      } catch (cause) {
        const error = failedCreate(deps.log, cause);
        if (lane) lane.gaveUp = error;
        throw error;
      }
    },
  });
  return {
    /** Whether creates of the account wait; further ones then wait behind them. */
    has: (accountId: string) => lanes.has(accountId),
    async create(checked: CheckedRequest): Promise<Created | ApiError> {
      const accountId = accountOf(checked);
      const lane = lanes.get(accountId) ?? { creates: 0 };
      lanes.set(accountId, lane);
      lane.creates += 1;
      try {
        return await create({ checked, lane });
      } finally {
        lane.creates -= 1;
        if (lane.creates === 0) lanes.delete(accountId);
      }
    },
  };
}
