import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { isEcho, isFields } from '../kit/echo.ts';
import { isJobId } from '../kit/job-id.ts';
import { type Candidate, pickJob } from '../kit/pick-job.ts';
import type { FindJobInput, FindOutcome, JobSpec } from '../provider.ts';
import { replicateCause, replicateErrorIn } from './errors.ts';
import { replicateInput } from './model-input.ts';
import { getFromReplicate, type ReplicateSettings } from './settings.ts';

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

/** How far Replicate's clock may be from ours. */
const SKEW_SECONDS = 120;
/** 2,000 predictions within minutes: above the 600 that may be created in one. */
const MAX_PAGES = 20;

/**
 * Looks for an attempt among the predictions made around its submit: by its mark, or else by its
 * likeness. Absence is weak, unless an operator has said how soon the list shows all, and each
 * other prediction could be told apart from this one: Replicate removes what was sent after an
 * hour.
 * Source: Replicate docs, predictions list and data retention.
 * @throws Error when the list can't be read to its end
 */
export async function findInPredictions(
  settings: ReplicateSettings,
  input: FindJobInput,
): Promise<FindOutcome> {
  const { candidates, skipped } = await readCandidates(settings, input);
  const isCertain = Number.isFinite(settings.listLagSeconds) && skipped === 0;
  return pickJob(candidates, input, isCertain ? 'strong' : 'weak');
}

/** `skipped`: how many rows may be the attempt's and have an id that is none of Replicate's. */
async function readCandidates(settings: ReplicateSettings, input: FindJobInput) {
  const candidates: Candidate[] = [];
  let skipped = 0;
  for await (const row of readList(settings, input)) {
    const by = compare(row, input.jobSpec, settings);
    if (by === 'other') continue;
    if (isJobId(row.id)) candidates.push({ jobId: row.id, by });
    else skipped += 1;
  }
  return { candidates, skipped };
}

/**
 * The webhook's address is the attempt's own; without it, everything that was sent must fit. A link
 * to an input is a mark too: it names the task's own copy, which no other task is sent with. What
 * is configured may have changed since the submit, so another model, or another address before the
 * same files, proves nothing.
 */
function compare(
  row: Row,
  jobSpec: JobSpec,
  { models }: ReplicateSettings,
): Candidate['by'] | 'other' {
  if (typeof row.webhook === 'string' && row.webhook !== '') {
    return attemptIn(row.webhook) === jobSpec.attemptId ? 'mark' : 'other';
  }
  if (typeof row.model === 'string' && row.model !== models[jobSpec.model]) return 'unclear';
  if (!isFields(row.input) || Object.keys(row.input).length === 0) return 'unclear';
  if (!isEcho(wordsOf(jobSpec), row.input)) return 'other';
  if (jobSpec.inputs.length === 0) return 'likeness';
  return isEcho(replicateInput(jobSpec), row.input) ? 'mark' : 'unclear';
}

/** All that is sent but the files. */
function wordsOf(jobSpec: JobSpec): Record<string, unknown> {
  return replicateInput({ ...jobSpec, mode: 'text-to-video', inputs: [] });
}

/** Our address and the secret of the token may have changed since; the attempt's id has not. */
function attemptIn(webhook: string): string | undefined {
  const path = URL.parse(webhook)?.pathname ?? webhook;
  return path.split('/').at(-1)?.split('.').at(0);
}

async function* readList(settings: ReplicateSettings, input: FindJobInput): AsyncGenerator<Row> {
  let url = firstPage(settings, input);
  for (let page = 0; page < MAX_PAGES; page += 1) {
    await settings.nextListTurn();
    const response = await getFromReplicate(settings, url);
    if (response.status !== 200 || !Value.Check(PageSchema, response.body)) {
      const cause = replicateCause(response.status, replicateErrorIn(response.body));
      throw new Error(`The list of predictions can not be read: ${cause}`);
    }
    yield* response.body.results;
    if (!response.body.next) return;
    url = nextPage(settings, response.body.next);
  }
  throw new Error(`The list of predictions has more than ${MAX_PAGES} pages`);
}

function firstPage(settings: ReplicateSettings, { sentBetween }: FindJobInput): string {
  const url = new URL(`${settings.baseUrl}/v1/predictions`);
  const { from, to } = sentBetween;
  url.search = new URLSearchParams({
    created_after: new Date(from - SKEW_SECONDS * 1000).toISOString(),
    created_before: new Date(to + SKEW_SECONDS * 1000).toISOString(),
  }).toString();
  return url.href;
}

/** The token goes to the configured host alone, wherever the link to the next page leads. */
function nextPage(settings: ReplicateSettings, next: string): string {
  const base = new URL(settings.baseUrl);
  const url = new URL(next, base);
  if (url.origin !== base.origin) throw new Error('The list of predictions goes on elsewhere');
  return url.href;
}
