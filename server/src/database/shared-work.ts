import { batch } from '../kernel/batch.ts';
import { type Database, DatabaseUnavailable } from './database.ts';

interface SharedWork<Item, Result> {
  /** Items with the same key are never worked on together. */
  keyOf(item: Item): string;
  /** Does the work of all items, in one transaction at most, in the order of the items. */
  work(db: Database, items: Item[]): Promise<Result[]>;
}

const MAX_ITEMS = 64;
/** How many batches of one kind run at a time, so that one that waits does not delay the others. */
const CONCURRENCY = 2;

/**
 * Micro-batches calls that arrive together into shared statements and one commit. A lone call does
 * not wait. The items of a batch that was rolled back are tried alone, so that a bad one fails no
 * other.
 */
export function sharedWork<Item, Result>(
  shared: SharedWork<Item, Result>,
): (db: Database, item: Item) => Promise<Result> {
  // A function, because after a failed batch each call retries its own item, which may fail alone.
  type GetResult = () => Promise<Result>;
  const workByDatabase = new WeakMap<Database, (item: Item) => Promise<GetResult>>();
  const open = (db: Database) =>
    batch<Item, GetResult>({
      maxItems: MAX_ITEMS,
      concurrency: CONCURRENCY,
      maxWaiting: Number.POSITIVE_INFINITY,
      tooMany: () => new Error('too much work waits'), // never thrown: there is no limit
      keyOf: shared.keyOf,
      async work(items) {
        try {
          const results = await shared.work(db, items);
          return results.map((result) => async () => result);
        } catch (error) {
          // If a response was lost, the work may have been committed.
          if (items.length === 1 || error instanceof DatabaseUnavailable) throw error;
          return items.map((item) => () => alone(db, item));
        }
      },
    });
  const alone = async (db: Database, item: Item) => (await shared.work(db, [item]))[0] as Result;
  return async (db, item) => {
    const work = workByDatabase.get(db) ?? open(db);
    workByDatabase.set(db, work);
    const getResult = await work(item);
    return getResult();
  };
}

/**
 * Thrown by shared work to roll back, so that each of its items is tried alone. Other errors do the
 * same, except DatabaseUnavailable; this one says that no item is at fault. A lone item's call
 * fails with it.
 */
export class RetryAlone extends Error {
  override name = 'RetryAlone';
}
