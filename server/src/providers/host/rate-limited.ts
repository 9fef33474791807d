import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../../database/database.ts';
import type { Capabilities, Provider, SubmitOutcome } from '../provider.ts';
import { MAX_LINE_SECONDS, type RateBudget, takeTurn } from './rate-budget.ts';

/** Whose budget is shared, and where: by all processes on one database. */
export interface Quota {
  db: Database;
  /** The provider's name and what tells its account from others; no secret. */
  quota: string;
}

/** Room for calls that take longer to leave than others, so that the provider counts fewer. */
const SHARE_OF_RATE = 0.9;
/** Look-ups have time, and an operator may list the same account by other means. */
const SHARE_OF_FIND_RATE = 0.75;

/** A submit leaves within 5 s of its record (attempts/attempts.ts); the rest is for connecting. */
const MAX_WAIT_SECONDS = 4;

/**
 * The provider, whose submits and reads take their turn of the shared budgets first. A submit that
 * would have to wait too long takes none and is rejected as busy; without a database to take a turn
 * from it is not sent. A read waits. Look-ups take a turn for each page: see {@link listTurns}.
 */
export function rateLimited(provider: Provider, quota: Quota): Provider {
  const { submit, read } = budgetsOf(quota, provider.capabilities);
  return {
    ...provider,
    async submit(jobSpec, mayStillSend) {
      const refusal = submit && (await awaitNearTurn(quota.db, submit));
      return refusal ?? provider.submit(jobSpec, mayStillSend);
    },
    async read(jobId) {
      if (read) await awaitTurn(quota.db, read);
      return provider.read(jobId);
    },
  };
}

/** What an adapter awaits before each page of a list: a turn of the provider's `find` budget. */
export function listTurns(quota: Quota, capabilities: () => Capabilities): () => Promise<void> {
  return async () => {
    const { find } = budgetsOf(quota, capabilities());
    if (find) await awaitTurn(quota.db, find);
  };
}

type Budgets = Record<RateBudget['purpose'], RateBudget | undefined>;

function budgetsOf({ quota }: Quota, { budgets }: Capabilities): Budgets {
  const budgetFor = (purpose: RateBudget['purpose'], share: number): RateBudget | undefined => {
    const rate = budgets[purpose]?.callsPerSecond;
    return rate === undefined ? undefined : { quota, purpose, callsPerSecond: rate * share };
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

/** Waits for a turn; or says, soon, why there is none. */
async function awaitNearTurn(db: Database, budget: RateBudget): Promise<SubmitOutcome | undefined> {
  try {
    const seconds = await nearTurn(db, budget);
    if (seconds > MAX_WAIT_SECONDS) return busy(seconds);
    await delay(seconds * 1000);
    return undefined;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    return { kind: 'not_sent', cause: `no turn could be taken: ${cause}` };
  }
}

function busy(seconds: number): SubmitOutcome {
  const cause = `the budget of submits is used up for ${seconds.toFixed(1)} s`;
  return { kind: 'rejected', fault: 'busy', cause, retryAfterSeconds: Math.ceil(seconds) };
}

const NEXT = statement(
  'provider_turn_next',
  `select greatest(0, extract(epoch from next_free - clock_now()))::float8 as wait_seconds
   from provider_turns where quota = $1 and purpose = $2
     and next_free <= clock_now() + ${MAX_LINE_SECONDS} * interval '1 second'`,
);

/**
 * Takes the next turn when it is near. A turn that is too far away is not taken: those who are
 * refused and come again would push it away for ever, and nobody would be served. Who looks at the
 * same time may still take one too many, at most one for each submit under way.
 */
async function nearTurn(db: Database, budget: RateBudget): Promise<number> {
  const [next] = await db.query<{ wait_seconds: number }>(NEXT, [budget.quota, budget.purpose]);
  const seconds = next?.wait_seconds ?? 0;
  return seconds > MAX_WAIT_SECONDS ? seconds : takeTurn(db, budget);
}
