import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Capabilities, HostedProvider, Provider, SubmitOutcome } from '../provider.ts';
import { countFreeTurns, type RateBudget, secondsUntilTurn, takeTurn } from './rate-budget.ts';

/** All processes on one database share the budgets of a quota. */
interface Quota {
  db: Database;
  /** The provider and, if it has API keys, a hash of the key; no secret. */
  name: string;
}

/**
 * Only 90 % of the provider's rate is used. Calls take different times to arrive, so the provider
 * may count more calls in one second than were sent in it.
 */
const SHARE_OF_RATE = 0.9;
/** Lower: a find is not urgent, and an operator may list jobs of the quota with other tools. */
const SHARE_OF_FIND_RATE = 0.75;

/** A submit is sent within 5 s of its record (`attempts/attempts.ts`); 1 s is for connecting. */
const MAX_WAIT_SECONDS = 4;

/** Twice a second, workers claim as many polls as there are free turns within this time. */
const NEAR_READ_SECONDS = 1;

/**
 * Wraps a provider: submits and reads first take a turn of the shared budgets. A submit whose turn
 * is too far away takes no turn and is rejected as busy. If the database fails, the outcome of
 * a submit is `not_sent`, and a read throws. A read waits for its turn, however far away it is. A
 * find takes a turn for each page: see {@link listTurns}. A cancel takes a turn of the reads.
 */
export function rateLimited(provider: Provider, quota: Quota): HostedProvider {
  const { submit, read } = budgetsOf(quota, provider.capabilities);
  const { cancel } = provider;
  return {
    ...provider,
    ...(cancel && {
      async cancel(jobId) {
        if (read) await awaitTurn(quota.db, read);
        return cancel(jobId);
      },
    }),
    async submit(jobSpec, mayStillSend) {
      const refusal = submit && (await awaitNearTurn(quota.db, submit));
      return refusal ?? provider.submit(jobSpec, mayStillSend);
    },
    async read(jobId) {
      if (read) await awaitTurn(quota.db, read);
      return provider.read(jobId);
    },
    ...(read && { nearReads: () => countFreeTurns(quota.db, read, NEAR_READ_SECONDS) }),
  };
}

/** Returns what an adapter awaits before each page of a list: a turn of the `find` budget. */
export function listTurns(quota: Quota, capabilities: () => Capabilities): () => Promise<void> {
  return async () => {
    const { find } = budgetsOf(quota, capabilities());
    if (find) await awaitTurn(quota.db, find);
  };
}

function budgetsOf(quota: Quota, { budgets }: Capabilities) {
  const budgetFor = (purpose: RateBudget['purpose'], share: number): RateBudget | undefined => {
    const rate = budgets[purpose]?.callsPerSecond;
    if (rate === undefined) return undefined;
    return { quota: quota.name, purpose, callsPerSecond: rate * share };
  };
  return {
    submit: budgetFor('submit', SHARE_OF_RATE),
    read: budgetFor('read', SHARE_OF_RATE),
    find: budgetFor('find', SHARE_OF_FIND_RATE),
  };
}

async function awaitTurn(db: Database, budget: RateBudget): Promise<void> {
  await delay((await takeTurn(db, budget)) * 1000);
}

/**
 * Waits for a near turn. A turn that is too far away is not taken: callers that are rejected and
 * retry would move the next turn further and further away, and no submit would ever be sent.
 * Callers that look at the same moment may each take a turn that is too far away: at most one for
 * each submit under way.
 * @returns the outcome of a submit whose turn is too far away; undefined: its turn has come
 */
async function awaitNearTurn(db: Database, budget: RateBudget): Promise<SubmitOutcome | undefined> {
  try {
    let seconds = await secondsUntilTurn(db, budget);
    if (seconds <= MAX_WAIT_SECONDS) seconds = await takeTurn(db, budget);
    if (seconds > MAX_WAIT_SECONDS) return busy(seconds);
    await delay(seconds * 1000);
    return undefined;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    return { kind: 'not_sent', cause: `no turn of the rate budget could be taken: ${cause}` };
  }
}

function busy(seconds: number): SubmitOutcome {
  const cause = `the rate budget of submits is used up for ${seconds.toFixed(1)} s`;
  return { kind: 'rejected', fault: 'busy', cause, retryAfterSeconds: Math.ceil(seconds) };
}
