import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { isEcho, isFields } from '../echo.ts';
import type { FindOutcome, SoughtAttempt, Submission } from '../provider.ts';
import { causeOf, replicateErrorIn } from './errors.ts';
import { modelInput } from './model-input.ts';
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
 * other prediction of the model could be told apart from this one: Replicate removes what was sent
 * after an hour.
 * Source: Replicate docs, predictions list and data retention.
 * @throws Error when the list can't be read to its end
 */
export async function findInPredictions(
  settings: ReplicateSettings,
  sought: SoughtAttempt,
): Promise<FindOutcome> {
  const { submission } = sought;
  const model = settings.models[submission.model];
  const listed = await readList(settings, sought);
  const rows = listed.filter((row) => typeof row.model !== 'string' || row.model === model);
  const taken = await sought.takenJobIds(idsOf(rows));
  const free = rows.filter((row) => !taken.has(row.id));
  const known = free.map((row) => ({ id: row.id, is: compare(row, submission) }));
  for (const by of ['mark', 'likeness'] as const) {
    const jobIds = idsOf(known.filter((row) => row.is === by));
    const [jobId, ...others] = jobIds;
    if (jobId === undefined) continue;
    return others.length === 0 ? { kind: 'found', jobId, by } : { kind: 'ambiguous', jobIds };
  }
  const isCertain =
    Number.isFinite(settings.listLagSeconds) && known.every((row) => row.is === 'other');
  return { kind: 'absent', proof: isCertain ? 'strong' : 'weak' };
}

function idsOf(rows: { id: string }[]): string[] {
  return [...new Set(rows.map(({ id }) => id))];
}

/**
 * The webhook's address is the attempt's own; without it, everything that was sent must fit. A link
 * to an input is a mark too: it names the task's own copy, which no other task is sent with.
 */
function compare(row: Row, submission: Submission): 'mark' | 'likeness' | 'other' | 'unclear' {
  if (typeof row.webhook === 'string') {
    return pathOf(row.webhook) === pathOf(submission.callbackUrl) ? 'mark' : 'other';
  }
  if (!isFields(row.input) || Object.keys(row.input).length === 0) return 'unclear';
  if (!isEcho(modelInput(submission), row.input)) return 'other';
  return submission.inputs.length > 0 ? 'mark' : 'likeness';
}

/** Our own address may have changed since; the path is the attempt's. */
function pathOf(url: string): string {
  return URL.parse(url)?.pathname ?? url;
}

async function readList(settings: ReplicateSettings, sought: SoughtAttempt): Promise<Row[]> {
  const rows: Row[] = [];
  let url = firstPage(settings, sought);
  for (let page = 0; page < MAX_PAGES; page += 1) {
    await settings.nextListTurn();
    const answer = await getFromReplicate(settings, url);
    if (answer.status !== 200 || !Value.Check(PageSchema, answer.body)) {
      const cause = causeOf(answer.status, replicateErrorIn(answer.body));
      throw new Error(`The list of predictions can not be read: ${cause}`);
    }
    rows.push(...answer.body.results);
    if (!answer.body.next) return rows;
    url = nextPage(settings, answer.body.next);
  }
  throw new Error(`The list of predictions has more than ${MAX_PAGES} pages`);
}

function firstPage(settings: ReplicateSettings, { sentBetween }: SoughtAttempt): string {
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
