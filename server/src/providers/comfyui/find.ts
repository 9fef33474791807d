import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { FindJobInput, FindOutcome, JobStatus } from '../provider.ts';
import { isQueued, statusOfHistory, statusOfJob } from './job.ts';
import { promptIdOf } from './prompt-id.ts';
import { type ComfyuiServer, getServerJson, unexpectedResponse } from './server.ts';

/**
 * The status of a job: one call to `/api/jobs/{id}`, or, if the server is too old for it, to
 * `/queue`, `/history/{id}` and `/queue` again.
 * @throws ServerError when the server gives no usable response
 */
export async function readPrompt(server: ComfyuiServer, id: string): Promise<JobStatus> {
  const path = `/api/jobs/${encodeURIComponent(id)}`;
  const response = await server.api.get(server.baseUrl + path);
  const { body } = response;
  if (response.status === 404)
    return isUnknownJob(body) ? { kind: 'missing' } : readFromQueueAndHistory(server, id);
  const status = response.status === 200 ? statusOfJob(body, id) : undefined;
  if (status) return status;
  throw unexpectedResponse(path, response.status);
}

/** `{"error": "Job not found"}`; the response for a route that does not exist is plain text. */
const NotFoundSchema = Type.Object({ error: Type.String() });

function isUnknownJob(body: unknown): boolean {
  return Value.Check(NotFoundSchema, body);
}

/**
 * A job moves from the queue to the history, never back. The second look at the queue finds a job
 * that was queued after the first look.
 */
async function readFromQueueAndHistory(server: ComfyuiServer, id: string): Promise<JobStatus> {
  if (await isInQueue(server, id)) return { kind: 'working' };
  const path = `/history/${encodeURIComponent(id)}`;
  const status = statusOfHistory(await getServerJson(server, path), id);
  if (status === undefined) throw unexpectedResponse(path, 200);
  if (status.kind !== 'missing') return status;
  return (await isInQueue(server, id)) ? { kind: 'working' } : status;
}

async function isInQueue(server: ComfyuiServer, id: string): Promise<boolean> {
  const queued = isQueued(await getServerJson(server, '/queue'), id);
  if (queued === undefined) throw unexpectedResponse('/queue', 200);
  return queued;
}

/**
 * Jobs are in the server's memory, so absence is strong only if that memory is proved to be older
 * than the attempt.
 */
export async function findPrompt(
  server: ComfyuiServer,
  attempt: FindJobInput,
  now: () => number,
): Promise<FindOutcome> {
  const jobId = promptIdOf(attempt.jobSpec.attemptId);
  const status = await readPrompt(server, jobId);
  if (status.kind !== 'missing') return { kind: 'found', jobId, by: 'mark' };
  // The age is read after the job: if the memory is old now, it was not lost before that read.
  const attemptAgeSeconds = (now() - attempt.sentBetween.from) / 1000;
  const isOlder = (await memoryAgeSeconds(server)) > attemptAgeSeconds + CLOCK_SECONDS;
  return { kind: 'absent', proof: isOlder ? 'strong' : 'weak' };
}

/** Allows for clocks that differ, and for the whole seconds of the Date header. */
const CLOCK_SECONDS = 60;

const JobListSchema = Type.Object({
  jobs: Type.Array(Type.Object({ create_time: Type.Optional(Type.Number()) })),
});

/**
 * The age of the server's oldest job, by the server's clock (`create_time` of the job, `Date` of
 * the response): since then the server was not restarted, and its history was not cleared. 0 if the
 * age is unknown: the server has no job, or is too old for `/api/jobs`.
 * Source: ComfyUI `server.py`, `get_jobs` and `post_prompt` (`create_time`, which the server sets).
 * @throws ServerError when the response is not in the documented format
 */
async function memoryAgeSeconds(server: ComfyuiServer): Promise<number> {
  const path = '/api/jobs?sort_by=created_at&sort_order=asc&limit=1';
  const { status, headers, body: list } = await server.api.get(server.baseUrl + path);
  if (status === 404) return 0;
  if (status !== 200 || !Value.Check(JobListSchema, list)) throw unexpectedResponse(path, status);
  const oldest = list.jobs[0]?.create_time;
  const serverNow = Date.parse(headers.date ?? '');
  return oldest === undefined || Number.isNaN(serverNow) ? 0 : (serverNow - oldest) / 1000;
}
