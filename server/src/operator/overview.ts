import { soldToday } from '../billing/credit-order.ts';
import type { Database } from '../database/database.ts';
import { readTaskMinutes } from '../tasks/task-minutes.ts';
import type { CostGroup } from './listings/costs.ts';
import { readCosts } from './verbs/costs.ts';

const CACHED_MS = 60_000;
/** At most this many tasks are read, and rows shown; the CSV has all. */
const ON_PAGE = { taskLimit: 50_000, limit: 200 };

export type Overview = ReturnType<typeof openOverview>;

/** The slow reads of the overview, each cached for a minute. */
export function openOverview(db: Database) {
  const costs = cached((asked: { per: CostGroup; days: number }) =>
    readCosts(db, { ...asked, ...ON_PAGE }),
  );
  return {
    costs,
    sold: cached(() => soldToday(db)),
    minutes: cached(() => readTaskMinutes(db)),
  };
}

function cached<Asked extends unknown[], Result>(read: (...asked: Asked) => Promise<Result>) {
  const cache = new Map<string, Promise<Result>>();
  return (...asked: Asked): Promise<Result> => {
    const key = JSON.stringify(asked);
    const found = cache.get(key);
    if (found !== undefined) return found;
    const result = read(...asked);
    const forget = () => cache.delete(key);
    cache.set(key, result);
    result.then(() => setTimeout(forget, CACHED_MS).unref(), forget);
    return result;
  };
}
