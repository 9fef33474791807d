import { batch } from '../kernel/batch.ts';
import { type Database, DatabaseUnavailable } from './database.ts';

interface SharedWork<Item, Result> {
  /** Items of the same key are never worked on together. */
  keyOf(item: Item): string;
  /** Does the work of all items, in one transaction at most, in the order of the items. */
  work(db: Database, items: Item[]): Promise<Result[]>;
}

/** Items of one statement. */
const MAX_ITEMS = 64;
/** How many pieces of shared work of one kind run at a time: one that waits delays no others. */
const CONCURRENCY = 2;

/**
 * Makes calls that arrive together share their statements and their commit. A call that arrives
 * alone does not wait. When the work of several items fails, nothing of it has happened, unless the
 * database was unavailable. Each item is then tried alone, so an item that can't be done fails no
 * other one.
 */
export function sharedWork<Item, Result>(
  shared: SharedWork<Item, Result>,
): (db: Database, item: Item) => Promise<Result> {
  const ofDatabase = new WeakMap<Database, (item: Item) => Promise<() => Promise<Result>>>();
  const open = (db: Database) =>
    batch<Item, () => Promise<Result>>({
      maxItems: MAX_ITEMS,
      concurrency: CONCURRENCY,
      maxWaiting: Number.POSITIVE_INFINITY,
      tooMany: () => new Error('too much work waits'), // never, without a limit
      keyOf: shared.keyOf,
      async work(items) {
        try {
          const results = await shared.work(db, items);
          return results.map((result) => async () => result);
        } catch (error) {
          if (items.length === 1 || !wasRolledBack(error)) throw error;
          return items.map((item) => () => alone(db, item));
        }
      },
    });
  const alone = async (db: Database, item: Item): Promise<Result> => {
    const [result] = await shared.work(db, [item]);
    return result as Result;
  };
  return async (db, item) => {
    const work = ofDatabase.get(db) ?? open(db);
    ofDatabase.set(db, work);
    return (await work(item))();
  };
}

/** Thrown by shared work that does not commit, so that each of its items is tried alone. */
export class NotTogether extends Error {
  override name = 'NotTogether';
}

/** Whether it is certain that nothing of the work was committed: no response to it was lost. */
function wasRolledBack(error: unknown): boolean {
  return !(error instanceof DatabaseUnavailable);
}
