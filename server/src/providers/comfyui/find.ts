import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseJson } from '../kit/json-call.ts';
import type { FindJobInput, FindOutcome, JobStatus } from '../provider.ts';
import { isQueued, statusOfHistory, statusOfJob } from './job.ts';
import { promptIdOf } from './prompt-id.ts';
import { askServer, getServerJson, notUnderstood, type ServerAddress } from './server.ts';

/**
 * What the server knows of a job: one call to `/api/jobs/{id}`, or, where a server is too old for
 * it, `/queue`, `/history/{id}` and `/queue` again.
 * @throws ServerTrouble when it can't be told
 */
export async function readPrompt(server: ServerAddress, id: string): Promise<JobStatus> {
  const path = `/api/jobs/${encodeURIComponent(id)}`;
  const response = await askServer(server, { method: 'GET', path });
  const body = parseJson(response.body);
  if (response.status === 404)
    return isJobsWord(body) ? { kind: 'missing' } : olderLookUp(server, id);
  const status = response.status === 200 ? statusOfJob(body, id) : undefined;
  if (status) return status;
  throw notUnderstood(path, response.status);
}

/** `{"error": "Job not found"}`; a route that does not exist is answered in plain text. */
const NotFoundSchema = Type.Object({ error: Type.String() });

function isJobsWord(body: unknown): boolean {
  return Value.Check(NotFoundSchema, body);
}

/** A job only moves on, from the queue to the history; the second look finds one just taken. */
async function olderLookUp(server: ServerAddress, id: string): Promise<JobStatus> {
  if (await isInQueue(server, id)) return { kind: 'working' };
  const path = `/history/${encodeURIComponent(id)}`;
  const status = statusOfHistory(await getServerJson(server, path), id);
  if (status === undefined) throw notUnderstood(path, 200);
  if (status.kind !== 'missing') return status;
  return (await isInQueue(server, id)) ? { kind: 'working' } : status;
}

async function isInQueue(server: ServerAddress, id: string): Promise<boolean> {
  const queued = isQueued(await getServerJson(server, '/queue'), id);
  if (queued === undefined) throw notUnderstood('/queue', 200);
  return queued;
}

/**
 * Looks for the job of an attempt under the id it was posted with. Jobs live in the server's
 * memory, so absence is strong only where that memory is shown to be older than the attempt.
 */
export async function findPrompt(
  server: ServerAddress,
  attempt: FindJobInput,
  now: () => number,
): Promise<FindOutcome> {
  const jobId = promptIdOf(attempt.jobSpec.attemptId);
  const status = await readPrompt(server, jobId);
  if (status.kind !== 'missing') return { kind: 'found', jobId, by: 'mark' };
  // Only now: memory that is old after the look-up was as old during it.
  const attemptAgeSeconds = (now() - attempt.sentBetween.from) / 1000;
  const isOlder = (await memoryAgeSeconds(server)) > attemptAgeSeconds + CLOCK_SECONDS;
  return { kind: 'absent', proof: isOlder ? 'strong' : 'weak' };
}

/** Room for clocks that run apart, and for the Date header's whole seconds. */
const CLOCK_SECONDS = 60;

const JobListSchema = Type.Object({
  jobs: Type.Array(Type.Object({ create_time: Type.Optional(Type.Number()) })),
});

/**
 * How long the server has remembered its oldest job, by its own clock (`create_time` of the job,
 * `Date` of the answer): it has not been restarted, nor its history cleared, since. 0 when that
 * can't be told: it knows no job, or is too old for `/api/jobs`.
 * Source: ComfyUI `server.py`, `get_jobs` and `post_prompt` (`create_time`, which the server sets).
 * @throws ServerTrouble when the answer is not understood
 */
async function memoryAgeSeconds(server: ServerAddress): Promise<number> {
  const path = '/api/jobs?sort_by=created_at&sort_order=asc&limit=1';
  const response = await askServer(server, { method: 'GET', path });
  if (response.status === 404) return 0;
  const list = response.status === 200 ? parseJson(response.body) : undefined;
  if (!Value.Check(JobListSchema, list)) throw notUnderstood(path, response.status);
  const oldest = list.jobs[0]?.create_time;
  const serverNow = Date.parse(response.headers.date ?? '');
  return oldest === undefined || Number.isNaN(serverNow) ? 0 : (serverNow - oldest) / 1000;
}
