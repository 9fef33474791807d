import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { FindJobInput, FindOutcome } from '../provider.ts';
import { readPrompt } from './job.ts';
import { promptIdOf } from './prompt-id.ts';
import { type ComfyuiServer, unexpectedResponse } from './server.ts';

/** Absence is strong only if the server's memory, which has the jobs, is older than the attempt. */
export async function findPrompt(
  server: ComfyuiServer,
  attempt: FindJobInput,
  now: () => number,
): Promise<FindOutcome> {
  const jobId = promptIdOf(attempt.jobSpec.attemptId);
  const status = await readPrompt(server, jobId);
  if (status.kind !== 'missing') return { kind: 'found', jobId, by: 'mark' };
  // The age is read after the job: a memory that is old enough now was not lost before that read.
  const attemptAgeSeconds = (now() - attempt.sentBetween.from) / 1000;
  const isOlder = (await memoryAgeSeconds(server)) > attemptAgeSeconds + CLOCK_SKEW_SECONDS;
  return { kind: 'absent', proof: isOlder ? 'strong' : 'weak' };
}

/** Allows for clocks that differ, and for the whole seconds of the Date header. */
const CLOCK_SKEW_SECONDS = 60;

const JobListSchema = Type.Object({
  jobs: Type.Array(Type.Object({ create_time: Type.Optional(Type.Number()) })),
});

/**
 * The age of the server's oldest job, by the server's clock (`create_time` of the job, `Date` of
 * the response): since then the server was not restarted, and its history was not cleared. 0 if the
 * age is unknown, for example because the server has no job.
 * Source: ComfyUI `server.py`, `get_jobs` and `post_prompt` (`create_time`, which the server sets).
 * @throws ServerError when the response is not in the documented format
 */
async function memoryAgeSeconds(server: ComfyuiServer): Promise<number> {
  const path = '/api/jobs?sort_by=created_at&sort_order=asc&limit=1';
  const { status, headers, body: list } = await server.api.get(server.baseUrl + path);
  if (status !== 200 || !Value.Check(JobListSchema, list)) throw unexpectedResponse(path, status);
  const oldest = list.jobs[0]?.create_time;
  const serverNow = Date.parse(headers.date ?? '');
  return oldest === undefined || Number.isNaN(serverNow) ? 0 : (serverNow - oldest) / 1000;
}
