/** One call that waits for its turn, and those who wait for its result. */
interface Call<Item, Result> {
  item: Item;
  key: string;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface BatchOptions<Item, Result> {
  /** The most calls that share one turn. */
  most: number;
  /** Turns under way at a time. */
  turns: number;
  /** Calls of the same key never share a turn. */
  keyOf(item: Item): string;
  /** Does the work of a turn: the results in the order of the items. */
  work(items: Item[]): Promise<Result[]>;
}

/**
 * Makes single calls share their work: what arrives in one tick, or while all turns are under way,
 * is done together. A lone call waits for nobody. When the work fails, each call of the turn does.
 */
export function batch<Item, Result>(
  options: BatchOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  let waiting: Call<Item, Result>[] = [];
  let underWay = 0;
  let scheduled = false;

  const takeTurn = async () => {
    scheduled = false;
    if (waiting.length === 0 || underWay === options.turns) return;
    const { turn, rest } = divide(waiting, options.most);
    waiting = rest;
    underWay += 1;
    if (rest.length > 0) schedule();
    await settle(turn, options.work);
    underWay -= 1;
    schedule();
  };
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(takeTurn); // after all requests that this tick of the event loop has read
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, key: options.keyOf(item), resolve, reject });
      schedule();
    });
}

/** The first calls of different keys, at most so many, and the others in their order. */
function divide<Item, Result>(calls: Call<Item, Result>[], most: number) {
  const keys = new Set<string>();
  const turn: Call<Item, Result>[] = [];
  const rest: Call<Item, Result>[] = [];
  for (const call of calls) {
    const fits = turn.length < most && !keys.has(call.key);
    (fits ? turn : rest).push(call);
    keys.add(call.key);
  }
  return { turn, rest };
}

async function settle<Item, Result>(
  turn: Call<Item, Result>[],
  work: (items: Item[]) => Promise<Result[]>,
): Promise<void> {
  try {
    const results = await work(turn.map((call) => call.item));
    if (results.length !== turn.length) throw new Error('a turn lost results');
    for (const [i, call] of turn.entries()) call.resolve(results[i] as Result);
  } catch (error) {
    for (const call of turn) call.reject(error);
  }
}
