import path from 'node:path';
import type { SimulatedResponse } from './exchange.ts';
import { quirk } from './faults.ts';
import type { SimulatorOptions } from './options.ts';
import { createOutputs, type OutputSpec } from './outputs.ts';
import { type BaseJob, openRecord } from './record.ts';
import type { SimulatedCall, SimulatedRequest } from './simulation.ts';

/** How long the links to an output work after the end of its job. */
const OUTPUT_SECONDS = 3600;

export type Jobs<Job extends BaseJob> = ReturnType<typeof openJobs<Job>>;

/** The jobs of a simulated provider, and what is done with them in the same way at each. */
export function openJobs<Job extends BaseJob>(
  options: SimulatorOptions,
  parse: (value: unknown) => Job,
) {
  const folder = path.join(path.dirname(options.record), 'videos');
  const outputs = createOutputs(folder, options.outputFile);
  const record = openRecord(options.record, parse);
  return {
    options,
    record,
    parse,
    outputs,
    /** The fields of a new job that every simulator fills in alike. */
    common: ({ headers, quirks }: SimulatedRequest) => ({
      quirks,
      createdAt: Date.now(),
      forcedStatus: null,
      origin: `http://${headers.host}`,
      reported: null,
    }),
    /** The job that the path of a request names; undefined too if it has vanished. */
    known({ groups: [id = ''] }: SimulatedRequest): Job | undefined {
      const job = record.get(id);
      return job && !quirk(job, 'vanishes') ? job : undefined;
    },
    /** The link to a job's output. */
    linkTo({ id, createdAt, origin }: Job): string {
      const lifeSeconds = options.jobSeconds + OUTPUT_SECONDS;
      return origin + outputs.pathOf(id, createdAt + lifeSeconds * 1000);
    },
    /** The call that serves outputs. */
    outputCall: (specOf: (job: Job) => OutputSpec, notFound: () => SimulatedResponse) =>
      call('output', 'GET', '/outputs/([^/]+)\\.mp4', async ({ url, groups: [id = ''] }) => {
        const job = record.get(id);
        return job ? outputs.serve(id, url.searchParams, job.quirks, specOf(job)) : notFound();
      }),
  };
}

/** A call by its name, its method and the pattern of its whole path. */
export function call(
  name: string,
  method: string,
  pattern: string,
  work: SimulatedCall['work'],
): SimulatedCall {
  return { name, method, path: new RegExp(`^${pattern}$`), work };
}

/** Refuses the requests of calls whose Authorization header has not this form. */
export function guarded(
  calls: SimulatedCall[],
  form: RegExp,
  refused: () => SimulatedResponse,
): SimulatedCall[] {
  const isGiven = ({ headers }: SimulatedRequest) => form.test(headers.authorization ?? '');
  return calls.map((one) => ({
    ...one,
    work: (request) => (isGiven(request) ? one.work(request) : refused()),
  }));
}
