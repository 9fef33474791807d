import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { type Static, type TProperties, Type } from 'typebox';
import { FaultSchema } from './faults.ts';

/** What every simulated provider remembers of a job it took. */
export const JOB_FIELDS = {
  id: Type.String(),
  /** As it was sent, so that a test can ask how many jobs ran for one prompt. */
  prompt: Type.String(),
  callbackUrl: Type.Union([Type.String(), Type.Null()]),
  /** Milliseconds since 1970. */
  createdAt: Type.Number(),
  /** The state words of this job that time has no say in; null lets time decide. */
  forcedStatus: Type.Union([Type.String(), Type.Null()]),
  /** The faults that it was taken with, and that stay with it for life. */
  quirks: Type.Array(FaultSchema),
} satisfies TProperties;

export const BaseJobSchema = Type.Object(JOB_FIELDS);
export type BaseJob = Static<typeof BaseJobSchema>;

/** The jobs a simulated provider really took. What was put is found again after a SIGKILL. */
export interface JobRecord<Job extends BaseJob> {
  all(): Job[];
  get(id: string): Job | undefined;
  /** Adds the job, or takes the place of the one with its id. */
  put(job: Job): void;
}

/**
 * Opens the record in a file of one JSON object a line, the last one of an id counts. Written
 * before `put` returns; a line that a kill cut short is dropped.
 */
export function openRecord<Job extends BaseJob>(
  file: string,
  parse: (value: unknown) => Job,
): JobRecord<Job> {
  const jobs = new Map(readLines(file).map((line) => idAndJob(parse(JSON.parse(line)))));
  return {
    all: () => [...jobs.values()],
    get: (id) => jobs.get(id),
    put(job) {
      appendFileSync(file, `${JSON.stringify(job)}\n`);
      jobs.set(job.id, job);
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
