import type { FindJobInput, FindOutcome } from '../provider.ts';
import { isJobId } from './job-id.ts';
import type { Api, JsonResponse } from './remote.ts';

/**
 * A job that may be the attempt's. `likeness`: it shows no mark, but the list shows the fields that
 * were sent. `unclear`: the list shows too little to exclude it.
 */
export interface Candidate {
  jobId: string;
  by: 'mark' | 'likeness' | 'unclear';
}

interface JobList<Row> {
  /** For messages. */
  name: string;
  firstPage: string;
  maxPages: number;
  /** The rows of a page and the address of the next one; undefined if the body is not a page. */
  pageIn(body: unknown): { rows: Row[]; nextPage: string | undefined } | undefined;
  causeOf(response: JsonResponse): string;
}

/**
 * Passes each row of a list to `look`. Rows are large, because they hold everything that was sent,
 * so only one page is kept in memory.
 * @returns whether the list was read to its end
 * @throws Error when a page can't be read: it must never count as empty
 */
export async function readList<Row>(
  api: Api,
  list: JobList<Row>,
  look: (row: Row) => void,
): Promise<boolean> {
  let url: string | undefined = list.firstPage;
  for (let page = 0; page < list.maxPages && url !== undefined; page += 1) {
    await api.nextListTurn();
    const response = await api.get(url);
    const found = response.status === 200 ? list.pageIn(response.body) : undefined;
    if (!found) throw new Error(`${list.name} can't be read: ${list.causeOf(response)}`);
    for (const row of found.rows) look(row);
    url = found.nextPage;
  }
  return url === undefined;
}

/**
 * Reads a list to its end and collects the candidates for an attempt's job.
 * @returns `skipped`: how many rows may be the attempt's but have a malformed id
 * @throws Error when the list can't be read to its end
 */
export async function readCandidates<Row>(
  api: Api,
  list: JobList<Row>,
  { idOf, compare }: { idOf(row: Row): string; compare(row: Row): Candidate['by'] | 'other' },
) {
  const candidates: Candidate[] = [];
  let skipped = 0;
  const isWhole = await readList(api, list, (row) => {
    const by = compare(row);
    const jobId = idOf(row);
    if (by === 'other') return;
    if (isJobId(jobId)) candidates.push({ jobId, by });
    else skipped += 1;
  });
  if (!isWhole) throw new Error(`${list.name} has more than ${list.maxPages} pages`);
  return { candidates, skipped };
}

/**
 * Picks the attempt's job from the candidates. If any candidate has the mark, likeness does not
 * count, even if the marked job is taken: the list shows marks, so a job without the mark is not
 * the attempt's. A taken or unclear candidate is never returned as found.
 * @param absence what absence proves if no candidate is left
 */
export async function pickJob(
  candidates: Candidate[],
  { takenJobIds }: FindJobInput,
  absence: 'strong' | 'weak' = 'weak',
): Promise<FindOutcome> {
  const taken = await takenJobIds(idsOf(candidates));
  const free = candidates.filter(({ jobId }) => !taken.has(jobId));
  const by = candidates.some((candidate) => candidate.by === 'mark') ? 'mark' : 'likeness';
  const jobIds = idsOf(free.filter((candidate) => candidate.by === by));
  const [jobId, ...others] = jobIds;
  if (jobId === undefined) return { kind: 'absent', proof: free.length === 0 ? absence : 'weak' };
  return others.length === 0 ? { kind: 'found', jobId, by } : { kind: 'ambiguous', jobIds };
}

/** Each id once: a list that changes while its pages are read may show a job twice. */
function idsOf(candidates: Candidate[]): string[] {
  return [...new Set(candidates.map(({ jobId }) => jobId))];
}

type Fields = Record<string, unknown>;

/**
 * Whether every field that was sent is in the shown data, with the same value. Links are compared
 * without their query, because a link to the same file gets a new signature from time to time.
 * Links to our objects are compared by the object's id: a link may lead to the service or to the
 * storage itself.
 */
export function isEcho(sent: unknown, shown: unknown): boolean {
  if (typeof sent === 'string' && typeof shown === 'string') {
    return comparable(sent) === comparable(shown);
  }
  if (Array.isArray(sent)) {
    if (!Array.isArray(shown) || shown.length !== sent.length) return false;
    return sent.every((item, index) => isEcho(item, shown[index]));
  }
  if (isFields(sent)) {
    return isFields(shown) && Object.keys(sent).every((key) => isEcho(sent[key], shown[key]));
  }
  return Object.is(sent, shown);
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function comparable(text: string): string {
  if (!/^https?:\/\/\S+$/.test(text)) return text;
  const link = text.split(/[?#]/)[0] ?? text;
  return /\/(obj_\w+)(\.\w{2,4})?$/.exec(link)?.[1] ?? link;
}
