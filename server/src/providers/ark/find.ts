import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { FindOutcome, SoughtAttempt, Submission } from '../provider.ts';
import { type ArkJob, arkJob } from './job.ts';
import type { ArkModels } from './request.ts';

/** Source: "List video generation tasks": tasks of the last 7 days, `page_size` 1 to 500. */
const LISTED_SECONDS = 7 * 86_400;
const PAGE_SIZE = 500;
const MOST_PAGES = 500;

/** How far Ark's clock may be from ours; `created_at` itself is cut to whole seconds. */
const CLOCK_SKEW_SECONDS = 5;

const PageSchema = Type.Object({ items: Type.Array(Type.Unknown()), total: Type.Number() });
export type Page = Static<typeof PageSchema>;

/** A page of the list. @throws Error when the JSON is none, so that it never reads as "empty" */
export function listPage(json: unknown): Page {
  if (!Value.Check(PageSchema, json)) throw new Error('the list of tasks is not readable');
  return json;
}

export interface Search {
  models: ArkModels;
  /** What `safety_identifier` holds for an attempt; null when attempts are not marked. */
  markerOf(submission: Submission): string | null;
  /** Gives one page, `query` being the whole query string. */
  list(query: string): Promise<Page>;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Looks for an attempt's job in the list of tasks. A marked attempt's job is the one with its
 * marker. Without markers it is the one that was made in the attempt's time with its parameters,
 * belongs to nobody yet and is the only such one. Absence is weak: no lag of the list is promised.
 */
export async function findJob(search: Search, attempt: SoughtAttempt): Promise<FindOutcome> {
  const ageSeconds = (search.now() - attempt.sentBetween.from) / 1000;
  if (ageSeconds > LISTED_SECONDS) return { kind: 'absent', proof: 'weak' };
  const marker = search.markerOf(attempt.submission);
  const model = search.models[attempt.submission.model];
  const matches = (job: ArkJob) =>
    marker === null ? isLike(job, attempt, model) : job.safety_identifier === marker;
  const jobIds = new Set<string>();
  for await (const job of listed(search, model)) {
    if (matches(job)) jobIds.add(job.id);
  }
  return outcomeOf(await untaken([...jobIds], attempt));
}

async function untaken(jobIds: string[], attempt: SoughtAttempt): Promise<string[]> {
  if (jobIds.length === 0) return [];
  const taken = await attempt.takenJobIds(jobIds);
  return jobIds.filter((id) => !taken.has(id));
}

function outcomeOf(jobIds: string[]): FindOutcome {
  const [jobId, ...others] = jobIds;
  if (jobId === undefined) return { kind: 'absent', proof: 'weak' };
  return others.length === 0 ? { kind: 'found', jobId } : { kind: 'ambiguous', jobIds };
}

/** All tasks, page by page. The order is not documented, so none can be left out. */
async function* listed(search: Search, model: string): AsyncGenerator<ArkJob> {
  for (let page = 1, seen = 0; page <= MOST_PAGES; page += 1) {
    const { items, total } = await search.list(queryFor(page, model));
    yield* items.map(arkJob).filter((job) => job !== undefined);
    seen += items.length;
    if (items.length === 0 || seen >= total) return;
  }
}

/** `filter.model` is documented for endpoint ids alone; plain model ids are compared here. */
function queryFor(page: number, model: string): string {
  const query = new URLSearchParams({ page_num: String(page), page_size: String(PAGE_SIZE) });
  if (isEndpoint(model)) query.set('filter.model', model);
  return query.toString();
}

function isEndpoint(model: string): boolean {
  return model.startsWith('ep-');
}

/** Whether nothing of what Ark echoes speaks against the job being this attempt's. */
function isLike(job: ArkJob, attempt: SoughtAttempt, model: string): boolean {
  const { submission } = attempt;
  const echoed: [unknown, unknown][] = [
    [job.model, isEndpoint(model) ? job.model : model], // an endpoint's tasks may name its model
    [job.resolution, submission.resolution],
    [job.ratio, submission.aspectRatio],
    [job.duration, submission.durationSeconds],
    [job.generate_audio, submission.generateAudio],
  ];
  const isSame = echoed.every(
    ([told, asked]) => told === undefined || told === null || told === asked,
  );
  return isSame && isInTime(job, attempt) && isUnmarkedOrOurs(job, submission);
}

function isInTime(job: ArkJob, { sentBetween: { from, to } }: SoughtAttempt): boolean {
  const seconds = job.created_at ?? Number.NaN;
  return (
    seconds >= Math.floor(from / 1000) - CLOCK_SKEW_SECONDS &&
    seconds <= Math.ceil(to / 1000) + CLOCK_SKEW_SECONDS
  );
}

/** Attempts may have been marked before the switch was turned off. */
function isUnmarkedOrOurs(job: ArkJob, submission: Submission): boolean {
  return !job.safety_identifier || job.safety_identifier === submission.attemptId;
}
