import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type ArkJob, arkJob } from './job.ts';

/** Source: "List video generation tasks": `page_num` and `page_size` are 1 to 500. */
const PAGE_SIZE = 500;
const MAX_PAGES = 500;

const PageSchema = Type.Object({ items: Type.Array(Type.Unknown()), total: Type.Number() });
export type Page = Static<typeof PageSchema>;

/**
 * A page of the list.
 * @throws Error when the JSON is not a page, so that it never counts as empty
 */
export function listPage(json: unknown): Page {
  if (!Value.Check(PageSchema, json))
    throw new Error('the list of tasks is not in its documented format');
  return json;
}

export interface ListSource {
  /** Gets one page; `query` is the whole query string. */
  page(query: string): Promise<Page>;
  /** Awaited before each page: a rate-limit turn for LIST. */
  nextTurn(): Promise<void>;
}

/**
 * Passes every task of one scan to `look`; the scan begins after this call. A task that moves to
 * another page meanwhile may be passed more than once. With an endpoint id, the list is filtered by
 * it.
 * @returns whether the scan read the list to its end: it can read at most 250,000 tasks
 * @throws what the scan throws, to each find that shares it
 */
export type Scan = (
  endpoint: string | null,
  look: (job: ArkJob) => void,
) => Promise<{ isWhole: boolean }>;

type Look = Parameters<Scan>[1];
type ScanEnd = ReturnType<Scan>;

/**
 * Coalesces finds into shared scans. Ark allows one LIST per second per account, and each scan
 * shows the tasks of all attempts. Finds that arrive during a scan share the next one. So any
 * number of concurrent finds cost at most two scans.
 */
export function createScans(source: ListSource): Scan {
  const queues = new Map<string | null, (look: Look) => ScanEnd>();
  return (endpoint, look) => {
    const join = queues.get(endpoint) ?? scanQueue(source, endpoint);
    queues.set(endpoint, join);
    return join(look);
  };
}

/** Scans of the same list, one after the other. */
function scanQueue(source: ListSource, endpoint: string | null): (look: Look) => ScanEnd {
  let latest: Promise<unknown> = Promise.resolve();
  let next: { looks: Look[]; end: ScanEnd } | undefined; // not begun yet: new finds join it

  async function scan(looks: Look[]): ScanEnd {
    await latest;
    try {
      await source.nextTurn();
    } finally {
      next = undefined; // the first page is requested now: a later find would miss it
    }
    return scanPages(source, endpoint, looks);
  }

  return (look) => {
    if (next) {
      next.looks.push(look);
    } else {
      const looks = [look];
      next = { looks, end: scan(looks) };
      latest = next.end.catch(() => {}); // each find gets the error itself
    }
    return next.end;
  };
}

/**
 * Passes all tasks, page by page. Their order is not documented, so no page can be left out. A full
 * page never counts as the last one, whatever `total` says.
 */
async function scanPages(source: ListSource, endpoint: string | null, looks: Look[]): ScanEnd {
  for (let page = 1, seen = 0; page <= MAX_PAGES; page += 1) {
    if (page > 1) await source.nextTurn();
    const { items, total } = await source.page(queryFor(page, endpoint));
    const jobs = items.map(arkJob).filter((job) => job !== undefined);
    for (const job of jobs) for (const look of looks) look(job);
    seen += items.length;
    const isFull = items.length >= PAGE_SIZE;
    if (items.length === 0 || (!isFull && seen >= total)) return { isWhole: true };
  }
  return { isWhole: false };
}

/** `filter.model` is documented for endpoint ids only. */
function queryFor(page: number, endpoint: string | null): string {
  const query = new URLSearchParams({ page_num: String(page), page_size: String(PAGE_SIZE) });
  if (endpoint !== null) query.set('filter.model', endpoint);
  return query.toString();
}
