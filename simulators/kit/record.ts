import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { type Static, type TProperties, Type } from 'typebox';
import { FaultSchema } from './faults.ts';

/** What every simulated provider stores for an accepted job. */
export const JOB_FIELDS = {
  id: Type.String(),
  /** As it was sent, so that a test can count the jobs of one prompt. */
  prompt: Type.String(),
  callbackUrl: Type.Union([Type.String(), Type.Null()]),
  /** Milliseconds since 1970. */
  createdAt: Type.Number(),
  /** A status that does not depend on time; null lets time decide. */
  forcedStatus: Type.Union([Type.String(), Type.Null()]),
  /** The job faults that came with its submit. */
  quirks: Type.Array(FaultSchema),
  /** The address at which the submit reached this simulator, for its links. */
  origin: Type.String(),
  /** The last status that was sent in a callback. */
  reported: Type.Union([Type.String(), Type.Null()]),
} satisfies TProperties;

export const BaseJobSchema = Type.Object(JOB_FIELDS);
export type BaseJob = Static<typeof BaseJobSchema>;

/** The jobs that a simulated provider accepted. They survive a SIGKILL. */
export type JobRecord<Job extends BaseJob> = ReturnType<typeof openRecord<Job>>;

/**
 * Opens the record in a file with one JSON object a line; the last line of an id counts. `put`
 * writes before it returns. A line that a kill truncated is dropped.
 */
export function openRecord<Job extends BaseJob>(file: string, parse: (value: unknown) => Job) {
  const lines = readLines(file).map((line) => parse(JSON.parse(line)));
  const jobs = new Map(lines.map((job) => [job.id, job]));
  const put = (job: Job): void => {
    appendFileSync(file, `${JSON.stringify(job)}\n`);
    jobs.set(job.id, job);
  };
  return {
    all: () => [...jobs.values()],
    get: (id: string) => jobs.get(id),
    /** Adds the job or replaces the one with the same id. */
    put,
  };
}

function readLines(file: string): string[] {
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1);
  if (whole.length < bytes.length) truncateSync(file, whole.length);
  return whole.toString().split('\n').filter(Boolean);
}
