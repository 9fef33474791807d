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
  /** Whether the callback of its end was sent. */
  isReported: Type.Optional(Type.Boolean()),
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
  const jobs = new Map(readLines(file).map((line) => idAndJob(parse(JSON.parse(line)))));
  const busy = new Set<string>();
  const put = (job: Job): void => {
    appendFileSync(file, `${JSON.stringify(job)}\n`);
    jobs.set(job.id, job);
  };
  return {
    all: () => [...jobs.values()],
    get: (id: string) => jobs.get(id),
    /** Adds the job or replaces the one with the same id. */
    put,
    /** Sends the callback of a job's end unless that was done, or is being done. */
    async reportOnce(id: string, send: (job: Job) => Promise<void>): Promise<void> {
      const job = jobs.get(id);
      if (!job || job.isReported || busy.has(id)) return;
      busy.add(id);
      await send(job);
      put({ ...(jobs.get(id) ?? job), isReported: true });
      busy.delete(id);
    },
  };
}

function idAndJob<Job extends BaseJob>(job: Job): [string, Job] {
  return [job.id, job];
}

function readLines(file: string): string[] {
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1);
  if (whole.length < bytes.length) truncateSync(file, whole.length);
  return whole.toString().split('\n').filter(Boolean);
}
