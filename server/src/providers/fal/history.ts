import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Candidate, isEcho, isFields, pickJob, readCandidates } from '../kit/listed-jobs.ts';
import type { FindJobInput, FindOutcome, JobSpec } from '../provider.ts';
import { falCause } from './errors.ts';
import { endpointOf, falInput } from './model-input.ts';
import { type Fal, JOB_LIMIT_SECONDS } from './settings.ts';

const PageSchema = Type.Object({
  items: Type.Array(
    Type.Object({
      request_id: Type.String(),
      sent_at: Type.String(),
      json_input: Type.Optional(Type.Unknown()),
    }),
  ),
  next_cursor: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

/** How far fal's clock may differ from the service's. */
const SKEW_SECONDS = 120;
/** Pages of 100 requests. No account is expected to have more within the range of `historyUrl`. */
const MAX_PAGES = 20;

/**
 * Finds an attempt's request in the account's request history: by its mark, or by its likeness. The
 * history may show finished requests only, so absence is only a hint.
 * Source: fal docs, platform APIs, models/requests/by-endpoint.
 * @throws Error when the history can't be read to its end
 */
export async function findInHistory(account: Fal, attempt: FindJobInput): Promise<FindOutcome> {
  const list = {
    name: "fal's request history",
    firstPage: historyUrl(account, attempt),
    maxPages: MAX_PAGES,
    causeOf: falCause,
    pageIn(body: unknown) {
      if (!Value.Check(PageSchema, body)) return undefined;
      const { items: rows, next_cursor: cursor } = body;
      return { rows, nextPage: cursor ? historyUrl(account, attempt, cursor) : undefined };
    },
  };
  const { candidates } = await readCandidates(account.api, list, {
    idOf: (row) => row.request_id,
    compare: (row) =>
      wasSentInTime(row.sent_at, attempt) ? compare(row.json_input, attempt.jobSpec) : 'other',
  });
  return pickJob(candidates, attempt);
}

/**
 * The docs do not say whether the range is about the time when a request was sent or when it ended.
 * So the range is from the submit to the end of the longest run, and the rows are compared by the
 * time they were sent. A range up to now would be too long to read for a busy account.
 */
function historyUrl({ platformUrl, models, now }: Fal, attempt: FindJobInput, cursor?: string) {
  const url = new URL(`${platformUrl}/v1/models/requests/by-endpoint`);
  const { from, to } = attempt.sentBetween;
  const end = Math.min(now(), to + JOB_LIMIT_SECONDS * 1000);
  url.search = new URLSearchParams({
    endpoint_id: endpointOf(attempt.jobSpec, models),
    start: new Date(from - SKEW_SECONDS * 1000).toISOString(),
    end: new Date(end + SKEW_SECONDS * 1000).toISOString(),
    limit: '100',
    expand: 'payloads',
    ...(cursor === undefined ? {} : { cursor }),
  }).toString();
  return url.href;
}

function wasSentInTime(time: string, { sentBetween }: FindJobInput): boolean {
  const sentAt = Date.parse(time);
  const skew = SKEW_SECONDS * 1000;
  return sentAt >= sentBetween.from - skew && sentAt <= sentBetween.to + skew;
}

/** A link to an input is a mark too: it names the task's own copy, which no other task sends. */
function compare(input: unknown, jobSpec: JobSpec): Candidate['by'] | 'other' {
  if (!isFields(input)) return 'other';
  const mark = input.end_user_id ?? null;
  if (mark !== null) return mark === jobSpec.attemptId ? 'mark' : 'other';
  if (!isEcho(falInput(jobSpec), input)) return 'other';
  return jobSpec.inputs.length > 0 ? 'mark' : 'likeness';
}
