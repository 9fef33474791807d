import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type OutputDeps, openOutputAt } from '../kit/open-output.ts';
import { CONTENT_FAULT, EXPIRED, FAILED, type JobFault, truncate } from '../kit/outcomes.ts';
import type { JobCost, JobStatus, OutputReference } from '../provider.ts';
import { isContent, openRouterCause, openRouterErrorIn } from './errors.ts';
import type { OpenRouter } from './settings.ts';

const JobSchema = Type.Object({
  status: Type.String(),
  error: Type.Optional(Type.Unknown()),
  unsigned_urls: Type.Optional(Type.Unknown()),
  usage: Type.Optional(Type.Unknown()),
});
type Job = Static<typeof JobSchema>;

/**
 * Reads a job. An unknown status counts as working. A 404 about a model says nothing about the job.
 * Source: OpenRouter API reference, "Poll video generation status".
 */
export async function readOpenRouterJob(account: OpenRouter, jobId: string): Promise<JobStatus> {
  const url = `${account.baseUrl}/videos/${encodeURIComponent(jobId)}`;
  const response = await account.api.get(url);
  const { status, body } = response;
  if (status === 200 && Value.Check(JobSchema, body)) return statusOf(body, url);
  const error = status === 404 ? openRouterErrorIn(body) : undefined;
  if (error && error.availability === undefined) return { kind: 'missing' };
  throw new Error(`a job can't be read: ${openRouterCause(response)}`);
}

function statusOf(job: Job, url: string): JobStatus {
  switch (job.status) {
    case 'completed':
      return { kind: 'succeeded', output: { url: linkIn(job, url) }, ...costIn(job) };
    case 'failed':
      return failureOf(job, isContent(String(job.error)) ? CONTENT_FAULT : FAILED);
    case 'cancelled':
      return failureOf(job, FAILED);
    case 'expired':
      return failureOf(job, EXPIRED);
    default:
      return { kind: 'working' };
  }
}

/** The first link of a completed job, which may be relative; without one, its content's address. */
function linkIn({ unsigned_urls: links }: Job, url: string): string {
  const link: unknown = Array.isArray(links) ? links[0] : undefined;
  const given = typeof link === 'string' ? URL.parse(link, url)?.href : undefined;
  return given ?? `${url}/content?index=0`;
}

/** OpenRouter does not say whether it charges for failures, but a failed job may show a cost. */
function failureOf(job: Job, fault: JobFault): JobStatus {
  const cause = truncate(`${job.status}: ${job.error ?? 'no details'}`);
  const { cost } = usageIn(job);
  const billed = cost === undefined ? null : cost > 0;
  return { kind: 'failed', ...fault, cause, billed, ...costIn(job) };
}

/** In USD. Empty if the job used the operator's own key of a vendor: the vendor charges apart. */
function costIn(job: Job): { cost?: JobCost } {
  const { cost, is_byok: isOwnKey } = usageIn(job);
  const isWhole = cost !== undefined && isOwnKey !== true;
  return isWhole ? { cost: { amount: String(cost), currency: 'usd' } } : {};
}

/** `1e999` in JSON is Infinity, which Postgres would store. */
function usageIn({ usage }: Job): { cost: number | undefined; is_byok?: unknown } {
  const { cost, is_byok } = Object(usage);
  const isCost = typeof cost === 'number' && cost >= 0 && Number.isFinite(cost);
  return { cost: isCost ? cost : undefined, is_byok };
}

/** On OpenRouter's own host, 401 and 403 are about the key, not about the video. */
const GONE = [404, 410];

/**
 * Downloads a result. The API key goes to the host of the base URL only: a link may lead to the
 * storage of another provider.
 * @throws as {@link openOutputAt}
 */
export function openVideo(
  { url }: OutputReference,
  { baseUrl, headers }: OpenRouter,
  deps: OutputDeps,
): Promise<AsyncIterable<Uint8Array>> {
  const isOwn = url !== undefined && URL.parse(url)?.origin === new URL(baseUrl).origin;
  return openOutputAt(url, deps, isOwn ? { headers, gone: GONE } : {});
}
