import { soldToday } from '../billing/credit-order.ts';
import type { Database } from '../database/database.ts';
import { readTaskMinutes } from '../tasks/task-minutes.ts';
import type { CostGroup } from './listings/costs.ts';
import { readCosts } from './verbs/costs.ts';

const KEPT_MS = 60_000;
/** The most costs that are read and shown; the CSV has all. */
const ON_PAGE = { taskLimit: 50_000, limit: 200 };

export type Overview = ReturnType<typeof openOverview>;

/** The long reads of the overview. Each is kept for a minute, so that more looks cost nothing. */
export function openOverview(db: Database) {
  const costs = kept((asked: { per: CostGroup; days: number }) =>
    readCosts(db, { ...asked, ...ON_PAGE }),
  );
  return {
    costs,
    sold: kept(() => soldToday(db)),
    minutes: kept(() => readTaskMinutes(db)),
  };
}

function kept<Asked extends unknown[], Result>(read: (...asked: Asked) => Promise<Result>) {
  const known = new Map<string, Promise<Result>>();
  return (...asked: Asked): Promise<Result> => {
    const key = JSON.stringify(asked);
    const found = known.get(key);
    if (found !== undefined) return found;
    const result = read(...asked);
    const forget = () => known.delete(key);
    known.set(key, result);
    result.then(() => setTimeout(forget, KEPT_MS).unref(), forget);
    return result;
  };
}
