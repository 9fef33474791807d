import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScans, type ListSource, type Page } from './scan.ts';

const page = (...ids: string[]): Page => ({ items: ids.map(task), total: ids.length });

function task(id: string) {
  return { id, status: 'running' };
}

/** A list that is asked page by page, and answers each when the test says so. */
function slowList(changes: Partial<ListSource> = {}) {
  const asked: { query: string; response: PromiseWithResolvers<Page> }[] = [];
  const turns: PromiseWithResolvers<void>[] = [];
  const scan = createScans({
    page(query) {
      const response = Promise.withResolvers<Page>();
      asked.push({ query, response });
      return response.promise;
    },
    nextTurn() {
      const turn = Promise.withResolvers<void>();
      turns.push(turn);
      return turn.promise;
    },
    ...changes,
  });
  const findPages = (endpoint: string | null = null) => {
    const seen: string[] = [];
    const end = scan(endpoint, ({ id }) => seen.push(id));
    return { seen, end: end.then(() => seen) };
  };
  return { asked, turns, findPages };
}

/** Lets everything that waits for nothing but promises happen. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const free = { nextTurn: async () => {} };

test('look-ups that are asked for together share one scan', async () => {
  const { asked, findPages } = slowList(free);
  const ends = Array.from({ length: 50 }, () => findPages().end);
  await settle();
  asked[0]?.response.resolve(page('a', 'b'));
  for (const seen of await Promise.all(ends)) assert.deepEqual(seen, ['a', 'b']);
  assert.equal(asked.length, 1);
});

test('look-ups that come while a scan is under way share the next one, from its start', async () => {
  const { asked, findPages } = slowList(free);
  const first = findPages();
  await settle();
  const late = [findPages(), findPages()];
  await settle();
  assert.equal(asked.length, 1, 'the next scan waits for this one');
  asked[0]?.response.resolve(page('a'));
  assert.deepEqual(await first.end, ['a']);
  await settle();
  assert.deepEqual(
    late.map(({ seen }) => seen),
    [[], []],
  );
  asked[1]?.response.resolve(page('a', 'b'));
  for (const { end } of late) assert.deepEqual(await end, ['a', 'b']);
  assert.equal(asked.length, 2);
});

test('each page waits for its turn, and until the first one has come a scan can be joined', async () => {
  const { asked, turns, findPages } = slowList();
  const early = findPages();
  await settle();
  const joining = findPages();
  assert.deepEqual([turns.length, asked.length], [1, 0]);
  turns[0]?.resolve();
  await settle();
  asked[0]?.response.resolve({ items: [task('a')], total: 2 });
  await settle();
  assert.deepEqual([turns.length, asked.length], [2, 1]);
  turns[1]?.resolve();
  await settle();
  asked[1]?.response.resolve({ items: [task('b')], total: 2 });
  assert.deepEqual(await early.end, ['a', 'b']);
  assert.deepEqual(await joining.end, ['a', 'b']);
});

test('a scan that fails fails each of its look-ups, and not those of the next one', async () => {
  const { asked, findPages } = slowList(free);
  const ends = [findPages().end, findPages().end];
  await settle();
  const next = findPages().end;
  asked[0]?.response.reject(new Error('no such luck'));
  for (const end of ends) await assert.rejects(end, /no such luck/);
  await settle();
  asked[1]?.response.resolve(page('a'));
  assert.deepEqual(await next, ['a']);
});

test('a turn that can not be had fails the look-ups that wait for it, and no later one', async () => {
  const { asked, turns, findPages } = slowList();
  const end = findPages().end;
  await settle();
  turns[0]?.reject(new Error('the budget is not there'));
  await assert.rejects(end, /budget/);
  const later = findPages().end;
  await settle();
  turns[1]?.resolve();
  await settle();
  asked[0]?.response.resolve(page('a'));
  assert.deepEqual(await later, ['a']);
});

/** A list whose page `n` (from 1) has this many tasks, all of them called `task-n`. */
function countedList(sizeOf: (page: number) => number, total: number) {
  let asked = 0;
  const page = async (): Promise<Page> => {
    asked += 1;
    return { items: Array(sizeOf(asked)).fill(task(`task-${asked}`)), total };
  };
  return { scan: createScans({ page, ...free }), askedCount: () => asked };
}

test('a total that is too small ends no scan before a page that is not full', async () => {
  const { scan, askedCount } = countedList((page) => (page < 3 ? 500 : 7), 1);
  const seen = new Set<string>();
  assert.deepEqual(await scan(null, ({ id }) => seen.add(id)), { isWhole: true });
  assert.deepEqual([...seen], ['task-1', 'task-2', 'task-3']);
  assert.equal(askedCount(), 3);
});

test('after a last page that is full an empty one ends the scan', async () => {
  const { scan, askedCount } = countedList((page) => (page === 1 ? 500 : 0), 500);
  assert.deepEqual(await scan(null, () => {}), { isWhole: true });
  assert.equal(askedCount(), 2);
});

test('a list without an end is given up after 500 pages, as not whole', async () => {
  const { scan, askedCount } = countedList(() => 500, 500);
  assert.deepEqual(await scan(null, () => {}), { isWhole: false });
  assert.equal(askedCount(), 500);
});

test('an endpoint has scans of its own, beside those of everything', async () => {
  const { asked, findPages } = slowList(free);
  const [all, own] = [findPages(null), findPages('ep-2026-abc')];
  await settle();
  assert.deepEqual(
    asked.map(({ query }) => /filter\.model=(.*)/.exec(query)?.[1]),
    [undefined, 'ep-2026-abc'],
  );
  asked[1]?.response.resolve(page('b'));
  assert.deepEqual(await own.end, ['b']);
  asked[0]?.response.resolve(page('a', 'b'));
  assert.deepEqual(await all.end, ['a', 'b']);
});
