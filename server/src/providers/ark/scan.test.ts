import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScans, type ListSource, type Page } from './scan.ts';

const page = (...ids: string[]): Page => ({ items: ids.map(task), total: ids.length });

function task(id: string) {
  return { id, status: 'running' };
}

/** A list whose pages are requested one by one and resolved by the test. */
function slowList(changes: Partial<ListSource> = {}) {
  const requests: { query: string; response: PromiseWithResolvers<Page> }[] = [];
  const turns: PromiseWithResolvers<void>[] = [];
  const scan = createScans({
    page(query) {
      const response = Promise.withResolvers<Page>();
      requests.push({ query, response });
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
  return { requests, turns, findPages };
}

/** Waits until all pending promise callbacks have run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const free = { nextTurn: async () => {} };

test('concurrent finds share one scan', async () => {
  const { requests, findPages } = slowList(free);
  const ends = Array.from({ length: 50 }, () => findPages().end);
  await settle();
  requests[0]?.response.resolve(page('a', 'b'));
  for (const seen of await Promise.all(ends)) assert.deepEqual(seen, ['a', 'b']);
  assert.equal(requests.length, 1);
});

test('finds that come during a scan share the next scan, from its start', async () => {
  const { requests, findPages } = slowList(free);
  const first = findPages();
  await settle();
  const late = [findPages(), findPages()];
  await settle();
  assert.equal(requests.length, 1, 'the next scan waits for this one');
  requests[0]?.response.resolve(page('a'));
  assert.deepEqual(await first.end, ['a']);
  await settle();
  assert.deepEqual(
    late.map(({ seen }) => seen),
    [[], []],
  );
  requests[1]?.response.resolve(page('a', 'b'));
  for (const { end } of late) assert.deepEqual(await end, ['a', 'b']);
  assert.equal(requests.length, 2);
});

test('each page waits for its turn, and finds can join a scan until its first turn has come', async () => {
  const { requests, turns, findPages } = slowList();
  const early = findPages();
  await settle();
  const joining = findPages();
  assert.deepEqual([turns.length, requests.length], [1, 0]);
  turns[0]?.resolve();
  await settle();
  requests[0]?.response.resolve({ items: [task('a')], total: 2 });
  await settle();
  assert.deepEqual([turns.length, requests.length], [2, 1]);
  turns[1]?.resolve();
  await settle();
  requests[1]?.response.resolve({ items: [task('b')], total: 2 });
  assert.deepEqual(await early.end, ['a', 'b']);
  assert.deepEqual(await joining.end, ['a', 'b']);
});

test('a failing scan fails each of its finds, but not those of the next scan', async () => {
  const { requests, findPages } = slowList(free);
  const ends = [findPages().end, findPages().end];
  await settle();
  const next = findPages().end;
  requests[0]?.response.reject(new Error('the list failed'));
  for (const end of ends) await assert.rejects(end, /the list failed/);
  await settle();
  requests[1]?.response.resolve(page('a'));
  assert.deepEqual(await next, ['a']);
});

test('a failing turn fails the finds that wait for it, but no later find', async () => {
  const { requests, turns, findPages } = slowList();
  const end = findPages().end;
  await settle();
  turns[0]?.reject(new Error('the budget can not be read'));
  await assert.rejects(end, /budget/);
  const later = findPages().end;
  await settle();
  turns[1]?.resolve();
  await settle();
  requests[0]?.response.resolve(page('a'));
  assert.deepEqual(await later, ['a']);
});

/** A list whose page `n` (from 1) has this many tasks, all with the id `task-n`. */
function countedList(sizeOf: (page: number) => number, total: number) {
  let requests = 0;
  const page = async (): Promise<Page> => {
    requests += 1;
    return { items: Array(sizeOf(requests)).fill(task(`task-${requests}`)), total };
  };
  return { scan: createScans({ page, ...free }), requestCount: () => requests };
}

test('a total that is too small does not end a scan before a page that is not full', async () => {
  const { scan, requestCount } = countedList((page) => (page < 3 ? 500 : 7), 1);
  const seen = new Set<string>();
  assert.deepEqual(await scan(null, ({ id }) => seen.add(id)), { isWhole: true });
  assert.deepEqual([...seen], ['task-1', 'task-2', 'task-3']);
  assert.equal(requestCount(), 3);
});

test('if the last page is full, an empty page ends the scan', async () => {
  const { scan, requestCount } = countedList((page) => (page === 1 ? 500 : 0), 500);
  assert.deepEqual(await scan(null, () => {}), { isWhole: true });
  assert.equal(requestCount(), 2);
});

test('an endless list is given up after 500 pages and does not count as whole', async () => {
  const { scan, requestCount } = countedList(() => 500, 500);
  assert.deepEqual(await scan(null, () => {}), { isWhole: false });
  assert.equal(requestCount(), 500);
});

test('an endpoint has its own scans', async () => {
  const { requests, findPages } = slowList(free);
  const [all, own] = [findPages(null), findPages('ep-2026-abc')];
  await settle();
  assert.deepEqual(
    requests.map(({ query }) => /filter\.model=(.*)/.exec(query)?.[1]),
    [undefined, 'ep-2026-abc'],
  );
  requests[1]?.response.resolve(page('b'));
  assert.deepEqual(await own.end, ['b']);
  requests[0]?.response.resolve(page('a', 'b'));
  assert.deepEqual(await all.end, ['a', 'b']);
});
