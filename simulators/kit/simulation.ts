import type { IncomingHttpHeaders } from 'node:http';
import type { SimulatedResponse } from './exchange.ts';
import type { Fault } from './faults.ts';
import type { BaseJob, JobRecord } from './record.ts';

/** A request to one call, read in full. */
export interface SimulatedRequest {
  url: URL;
  /** What the groups of the call's path pattern matched. */
  groups: string[];
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Job faults to store with the job that this request creates. */
  quirks: Fault[];
}

export interface SimulatedCall {
  /** Its name in plans and in the list of requests: submit, read, find, cancel, output, ... */
  name: string;
  method: string;
  /** Matched against the whole path. */
  path: RegExp;
  work(request: SimulatedRequest): SimulatedResponse | Promise<SimulatedResponse>;
}

/** One provider, simulated. */
export interface Simulation<Job extends BaseJob> {
  record: JobRecord<Job>;
  /** Checks a job that a control call changed. */
  parse(value: unknown): Job;
  calls: SimulatedCall[];
  /** The provider's error response for `fault.code`, or for `fault.status` alone. */
  refuse(fault: Fault): SimulatedResponse;
}
