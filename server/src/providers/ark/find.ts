import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { batch } from '../../kernel/batch.ts';
import { modelIdOf } from '../kit/configured-models.ts';
import { type Candidate, pickJob, readList } from '../kit/listed-jobs.ts';
import type { Api } from '../kit/remote.ts';
import { requestFields } from '../kit/request-fields.ts';
import type { FindJobInput, Provider } from '../provider.ts';
import { arkCauseOf } from './errors.ts';
import { type ArkJob, arkJob } from './job.ts';
import { ARK_FIELDS, type ArkModels } from './request.ts';

/** Source: "List video generation tasks": it shows the jobs of the last 7 days. */
const LISTED_SECONDS = 7 * 86_400;
/** Source: the same page: `page_num` and `page_size` are 1 to 500. */
const PAGE_SIZE = 500;
const MAX_PAGES = 500;

/** How far the clocks may differ; `created_at` is rounded down to whole seconds. */
const CLOCK_SKEW_SECONDS = 5;

/** The prefix of attempt ids (`kernel/ids.ts`), which mark jobs. */
const MARK = /^att_/;

const PageSchema = Type.Object({ items: Type.Array(Type.Unknown()), total: Type.Number() });

interface ArkFindDeps {
  api: Api;
  jobsUrl: string;
  models: ArkModels;
  isMarking: boolean;
  now(): number;
}

/**
 * Finds an attempt's job in Ark's list: by its mark, or by its likeness. Absence is weak: Ark does
 * not promise how soon the list shows a job.
 */
export function createArkFind(deps: ArkFindDeps): Provider['find'] {
  const { models, isMarking, now } = deps;
  const scans = new Map<string | null, (find: Find) => Promise<boolean>>();
  return async (attempt) => {
    const ageSeconds = (now() - attempt.sentBetween.from) / 1000;
    if (ageSeconds > LISTED_SECONDS) return { kind: 'absent', proof: 'weak' };
    const model = modelIdOf(models, attempt.jobSpec) ?? '';
    const endpoint = isEndpoint(model) ? model : null;
    const scan = scans.get(endpoint) ?? openScans(deps, endpoint);
    scans.set(endpoint, scan);
    const { look, candidates } = collectCandidates(attempt, model);
    const isWhole = await scan({ attemptId: attempt.jobSpec.attemptId, look });
    return pickJob(candidates({ isMarking, isWhole }), attempt);
  };
}

interface Find {
  attemptId: string;
  look(job: ArkJob): void;
}

/**
 * Coalesces finds into shared scans. Ark allows one LIST per second per account, and each scan
 * shows the jobs of all attempts. Finds that arrive during a scan share the next one. So any
 * number of concurrent finds cost at most two scans.
 * @returns a function that tells whether the scan read the list to its end (at most 250,000 jobs)
 */
function openScans(deps: ArkFindDeps, endpoint: string | null): (find: Find) => Promise<boolean> {
  return batch({
    maxItems: Number.POSITIVE_INFINITY,
    concurrency: 1,
    maxWaiting: Number.POSITIVE_INFINITY,
    tooMany: () => new Error('too many finds wait'), // never thrown: there is no limit
    keyOf: ({ attemptId }) => attemptId,
    async work(finds) {
      const isWhole = await scanJobs(deps, endpoint, (job) => {
        for (const { look } of finds) look(job);
      });
      return finds.map(() => isWhole);
    },
  });
}

/**
 * Reads all jobs, page by page. Their order is not documented, so no page can be left out. A full
 * page never counts as the last one, whatever `total` says. A job that moves to another page
 * meanwhile may be seen twice.
 */
function scanJobs(
  { api, jobsUrl }: ArkFindDeps,
  endpoint: string | null,
  look: (job: ArkJob) => void,
): Promise<boolean> {
  let page = 1;
  let seen = 0;
  const urlOfPage = () => {
    const query = new URLSearchParams({ page_num: String(page), page_size: String(PAGE_SIZE) });
    // This filter is documented for endpoint ids only.
    if (endpoint !== null) query.set('filter.model', endpoint);
    return `${jobsUrl}?${query}`;
  };
  const list = {
    name: 'the list of jobs',
    firstPage: urlOfPage(),
    maxPages: MAX_PAGES,
    causeOf: arkCauseOf,
    pageIn(body: unknown) {
      if (!Value.Check(PageSchema, body)) return undefined;
      const { items, total } = body;
      page += 1;
      seen += items.length;
      const isLast = items.length === 0 || (items.length < PAGE_SIZE && seen >= total);
      const rows = items.map(arkJob).filter((job) => job !== undefined);
      return { rows, nextPage: isLast ? undefined : urlOfPage() };
    },
  };
  return readList(api, list, look);
}

function collectCandidates(attempt: FindJobInput, model: string) {
  const { attemptId } = attempt.jobSpec;
  const marked: Candidate[] = [];
  const alike: Candidate[] = [];
  let showsMarks = false;
  return {
    look(job: ArkJob): void {
      const mark = job.safety_identifier;
      showsMarks ||= mark ? MARK.test(mark) : false;
      if (mark === attemptId) marked.push({ jobId: job.id, by: 'mark' });
      else if (!mark && isLike(job, attempt, model)) alike.push({ jobId: job.id, by: 'likeness' });
    },
    /**
     * Marked jobs always count. Similar unmarked ones count if marking is off or no job has a mark
     * (marking was off, or a gateway does not echo marks), and if the list was read to its end: the
     * rest may hold the mark, or a second similar job.
     */
    candidates(list: { isMarking: boolean; isWhole: boolean }): Candidate[] {
      const canBeUnmarked = list.isWhole && !(list.isMarking && showsMarks);
      return canBeUnmarked ? [...marked, ...alike] : marked;
    },
  };
}

/** At Ark, an operator's own inference endpoint can stand in for a model. */
function isEndpoint(model: string): boolean {
  return model.startsWith('ep-');
}

/** Whether the job could be the attempt's, by everything that Ark echoes. */
function isLike(job: ArkJob, attempt: FindJobInput, model: string): boolean {
  const shown: Partial<Record<string, unknown>> = { ...job };
  const sent = requestFields(ARK_FIELDS, attempt.jobSpec);
  const isSame = Object.entries(sent).every(([name, value]) => (shown[name] ?? value) === value);
  // A job of an endpoint may show the endpoint's model instead of its id.
  const isSameModel = isEndpoint(model) || (job.model ?? model) === model;
  return isSame && isSameModel && isInTime(job, attempt);
}

function isInTime(job: ArkJob, { sentBetween: { from, to } }: FindJobInput): boolean {
  const seconds = job.created_at ?? Number.NaN;
  return (
    seconds >= Math.floor(from / 1000) - CLOCK_SKEW_SECONDS &&
    seconds <= Math.ceil(to / 1000) + CLOCK_SKEW_SECONDS
  );
}
