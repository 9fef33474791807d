import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { modelIdOf } from '../kit/configured-models.ts';
import { type Candidate, isEcho, isFields, pickJob, readCandidates } from '../kit/listed-jobs.ts';
import type { FindJobInput, FindOutcome, JobSpec } from '../provider.ts';
import { replicateCause } from './errors.ts';
import { replicateInput } from './model-input.ts';
import { CREATES_PER_SECOND, type Replicate } from './settings.ts';

const RowSchema = Type.Object({
  id: Type.String(),
  model: Type.Optional(Type.Unknown()),
  input: Type.Optional(Type.Unknown()),
  webhook: Type.Optional(Type.Unknown()),
});
const PageSchema = Type.Object({
  results: Type.Array(RowSchema),
  next: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
type Row = Static<typeof RowSchema>;

/** How far Replicate's clock may differ from the service's. */
const SKEW_SECONDS = 120;
const PAGE_ROWS = 100;

/**
 * Finds an attempt's job among the predictions that were created around its submit: by its mark, or
 * by its likeness. Absence is strong if an operator has configured how soon the list shows every
 * prediction, and no listed prediction can be the attempt's. Otherwise it is weak: after an hour
 * Replicate removes what was sent, so such a prediction can't be excluded.
 * Source: Replicate docs, predictions list and data retention.
 * @throws Error when the list can't be read to its end
 */
export async function findInPredictions(
  account: Replicate,
  attempt: FindJobInput,
): Promise<FindOutcome> {
  const list = {
    name: 'the list of predictions',
    firstPage: firstPage(account, attempt),
    maxPages: pagesOf(attempt),
    causeOf: replicateCause,
    pageIn(body: unknown) {
      if (!Value.Check(PageSchema, body)) return undefined;
      const { results: rows, next } = body;
      return { rows, nextPage: next ? nextPage(account, next) : undefined };
    },
  };
  const { candidates, skipped } = await readCandidates(account.api, list, {
    idOf: ({ id }) => id,
    compare: (row) => compare(row, attempt.jobSpec, account),
  });
  const isCertain = Number.isFinite(account.listLagSeconds) && skipped === 0;
  return pickJob(candidates, attempt, isCertain ? 'strong' : 'weak');
}

/**
 * The webhook's address is unique to the attempt. If it is not shown, everything that was sent must
 * be equal. A link to an input is a mark too: it names the task's own copy, which is not sent with
 * any other task. The configuration may have changed since the submit, so another model, or another
 * host in the links to the same files, proves nothing.
 */
function compare(row: Row, jobSpec: JobSpec, { models }: Replicate): Candidate['by'] | 'other' {
  if (typeof row.webhook === 'string' && row.webhook !== '') {
    return attemptIn(row.webhook) === jobSpec.attemptId ? 'mark' : 'other';
  }
  if (typeof row.model === 'string' && row.model !== modelIdOf(models, jobSpec)) return 'unclear';
  if (!isFields(row.input) || Object.keys(row.input).length === 0) return 'unclear';
  if (!isEcho(replicateInput({ ...jobSpec, inputs: [] }), row.input)) return 'other';
  if (jobSpec.inputs.length === 0) return 'likeness';
  return isEcho(replicateInput(jobSpec), row.input) ? 'mark' : 'unclear';
}

/** The public URL and the token's secret may have changed since the submit; the id has not. */
function attemptIn(webhook: string): string | undefined {
  const path = URL.parse(webhook)?.pathname ?? webhook;
  return path.split('/').at(-1)?.split('.').at(0);
}

/** Twice the pages that creates at the rate limit fill: bursts may go beyond the limit. */
function pagesOf({ sentBetween: { from, to } }: FindJobInput): number {
  const seconds = (to - from) / 1000 + 2 * SKEW_SECONDS;
  return 1 + Math.ceil((2 * CREATES_PER_SECOND * seconds) / PAGE_ROWS);
}

function firstPage(account: Replicate, { sentBetween }: FindJobInput): string {
  const url = new URL(`${account.baseUrl}/v1/predictions`);
  const { from, to } = sentBetween;
  url.search = new URLSearchParams({
    created_after: new Date(from - SKEW_SECONDS * 1000).toISOString(),
    created_before: new Date(to + SKEW_SECONDS * 1000).toISOString(),
  }).toString();
  return url.href;
}

/** Refuses a link to another host, because the token is sent to the configured host only. */
function nextPage(account: Replicate, next: string): string {
  const base = new URL(account.baseUrl);
  const url = new URL(next, base);
  if (url.origin !== base.origin)
    throw new Error('the list of predictions continues on another host');
  return url.href;
}
