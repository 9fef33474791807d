import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type ArkJob, arkJob } from './job.ts';

/** Source: "List video generation tasks": `page_num` and `page_size` are 1 to 500. */
const PAGE_SIZE = 500;
const MAX_PAGES = 500;

const PageSchema = Type.Object({ items: Type.Array(Type.Unknown()), total: Type.Number() });
export type Page = Static<typeof PageSchema>;

/** A page of the list. @throws Error when the JSON is none, so that it never reads as "empty" */
export function listPage(json: unknown): Page {
  if (!Value.Check(PageSchema, json)) throw new Error('the list of tasks is not readable');
  return json;
}

export interface ListSource {
  /** Gives one page, `query` being the whole query string. */
  page(query: string): Promise<Page>;
  /** Awaited before each page: a share of the account's calls of LIST. */
  nextTurn(): Promise<void>;
}

/**
 * Shows every task to `look`, of one scan that begins after this call; each task once or, when it
 * moved to another page meanwhile, more often. With an endpoint id the list is filtered by it.
 * @returns whether the scan saw the list to its end: no more than 250,000 tasks can be asked for
 * @throws what the scan throws, to each look-up that shares it
 */
export type Scan = (
  endpoint: string | null,
  look: (job: ArkJob) => void,
) => Promise<{ isWhole: boolean }>;

type Look = Parameters<Scan>[1];
type ScanEnd = ReturnType<Scan>;

/**
 * Scans that look-ups share: Ark allows one LIST a second per account, and each shows everyone's
 * tasks. A look-up that comes while a scan is under way waits for the next one together with all
 * others that do, so any number of them at once costs two scans at most.
 */
export function createScans(source: ListSource): Scan {
  const lines = new Map<string | null, (look: Look) => ScanEnd>();
  return (endpoint, look) => {
    const join = lines.get(endpoint) ?? scansInLine(source, endpoint);
    lines.set(endpoint, join);
    return join(look);
  };
}

/** Scans of the same tasks, one after the other. */
function scansInLine(source: ListSource, endpoint: string | null): (look: Look) => ScanEnd {
  let latest: Promise<unknown> = Promise.resolve();
  let next: { looks: Look[]; end: ScanEnd } | undefined; // not begun: whoever comes joins it

  async function scan(looks: Look[]): ScanEnd {
    await latest;
    try {
      await source.nextTurn();
    } finally {
      next = undefined; // the first page is asked for now: who comes later has missed its start
    }
    return showAll(source, endpoint, looks);
  }

  return (look) => {
    if (next) {
      next.looks.push(look);
    } else {
      const looks = [look];
      next = { looks, end: scan(looks) };
      latest = next.end.catch(() => {}); // each look-up hears of it by itself
    }
    return next.end;
  };
}

/**
 * All tasks, page by page. The order is not documented, so none can be left out. A full page is
 * never the last one, whatever `total` says.
 */
async function showAll(source: ListSource, endpoint: string | null, looks: Look[]): ScanEnd {
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

/** `filter.model` is documented for endpoint ids alone. */
function queryFor(page: number, endpoint: string | null): string {
  const query = new URLSearchParams({ page_num: String(page), page_size: String(PAGE_SIZE) });
  if (endpoint !== null) query.set('filter.model', endpoint);
  return query.toString();
}
