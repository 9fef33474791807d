import { isDatabaseUnavailable } from '../../database/database.ts';
import { batch } from '../../kernel/batch.ts';
import type { ApiError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { CheckedRequest } from './checked-request.ts';
import { failedCreate } from './create.ts';

/** A create that waits for the balance of its account. */
interface Waiting {
  checked: CheckedRequest;
  account: WaitingAccount;
  since: number;
}

interface WaitingAccount {
  creates: number;
  /** When its balance was waited for in vain, and the error of the creates that waited then. */
  gaveUp?: { at: number; error: ApiError };
}

interface AsideOptions<Outcome> {
  maxItems: number;
  /** How many transactions may wait for a balance at once. Each has a connection. */
  concurrency: number;
  maxWaiting: number;
  nameOf(checked: CheckedRequest): string;
  tooMany(): Error;
  log: Log;
  /** Does the creates of one account in one transaction, which waits for its balance. */
  work(requests: CheckedRequest[]): Promise<Outcome[]>;
}

/**
 * Makes the place for creates that were set aside, because another transaction has locked their
 * balances. Those of one account share a transaction, one
 * at a time. When the balance could not be had in time, all that wait for it are refused: if each
 * waited in turn, the last one would wait for minutes, and hold connections.
 */
export function openSetAside<Outcome>(options: AsideOptions<Outcome>) {
  const accounts = new Map<string, WaitingAccount>();
  const createAll = async (waiting: Waiting[]) => {
    const account = waiting[0]?.account;
    const gaveUp = account?.gaveUp;
    if (gaveUp && waiting.some(({ since }) => since < gaveUp.at)) throw gaveUp.error;
    try {
      return await options.work(waiting.map(({ checked }) => checked));
    } catch (cause) {
      if (!isDatabaseUnavailable(cause)) throw cause;
      const error = failedCreate(options.log, cause);
      if (account) account.gaveUp = { at: performance.now(), error };
      throw error;
    }
  };
  const create = batch<Waiting, Outcome>({
    ...options,
    name: 'create_aside',
    keyOf: ({ checked }) => options.nameOf(checked),
    laneOf: ({ checked }) => checked.binding.accountId,
    isOfOneLane: true,
    work: createAll,
  });
  return {
    /** Whether creates of the account wait; further ones then wait behind them. */
    has: (accountId: string) => accounts.has(accountId),
    async create(checked: CheckedRequest): Promise<Outcome> {
      const { accountId } = checked.binding;
      const account = accounts.get(accountId) ?? { creates: 0 };
      accounts.set(accountId, account);
      account.creates += 1;
      try {
        return await create({ checked, account, since: performance.now() });
      } finally {
        account.creates -= 1;
        if (account.creates === 0) accounts.delete(accountId);
      }
    },
  };
}
