import type {
  FindOutcome,
  JobStatus,
  Provider,
  SubmitOutcome,
} from '../../../src/providers/provider.ts';

/** A fault as the simulators know it, see `simulators/kit/faults.ts`. */
export interface PlannedFault {
  kind: string;
  seconds?: number;
  status?: number;
  code?: string;
  word?: string;
  retryAfterSeconds?: number;
}

/**
 * What the suite asks of a simulator: its control calls. A provider without one answers from its
 * own record, and can't `plan`.
 */
export interface SimulatorControl {
  plan(plan: {
    on?: string;
    match?: string;
    times?: number;
    faults: PlannedFault[];
  }): Promise<void>;
  clearPlans(): Promise<void>;
  jobs(): Promise<{ id: string; prompt: string }[]>;
  changeJob(id: string, changes: Record<string, unknown>): Promise<void>;
  requests(): Promise<{ call: string }[]>;
  /** Sees to it that the job ends, where it does not by itself. */
  finish?(jobId: string): Promise<void>;
  kill(): Promise<void>;
}

/** A provider, and the simulator that it is configured for. */
export interface ProviderSubject {
  /** Its submit and read time-outs are about a second, so that stalls cost the suite little. */
  provider: Provider;
  simulator: SimulatorControl;
  close(): Promise<void>;
}

/** A refusal that the provider documents, as a fault of the submit, and what it must become. */
export interface RefusalCase {
  fault: Omit<PlannedFault, 'kind'>;
  becomes:
    | Pick<Extract<SubmitOutcome, { fault: 'request' }>, 'fault' | 'code'>
    | { fault: 'busy' | 'operator'; retryAfterSeconds?: number };
}

/** A state that the provider documents, as changes of a simulated job. */
export interface StatusCase {
  says: string;
  changes: Record<string, unknown>;
  becomes: { kind: JobStatus['kind']; code?: string; billed?: boolean | null };
}

export interface ProviderCase {
  name: string;
  /** How calls travel: what a network can do to them is tried where there is one. */
  transport: 'http' | 'none';
  /** Starts a simulator with an empty record. Called several times. */
  start(): Promise<ProviderSubject>;
  /** Ways in which a look-up is shown no mark of an attempt, by what a test is to call each. */
  unmarked: Record<string, () => Promise<ProviderSubject>>;
  refusals: RefusalCase[];
  statuses: StatusCase[];
  /** Whether a job is found by an id that the attempt gives it, or in a list of jobs. */
  find: 'exact' | 'list';
  /** What it proves that a look-up does not find a job. */
  absence: Extract<FindOutcome, { kind: 'absent' }>['proof'];
  /** What the provider calls a job of the simulator; its id when not given. */
  jobIdOf?(job: { id: string; prompt: string }): string;
  callbacks: 'none' | 'unsigned' | 'signed';
  /** Whether a callback can come before the submit's reply; true when not given. */
  callsBackEarly?: boolean;
}

/** What the tests of a suite share, once it has begun. */
export interface Suite {
  of: ProviderCase;
  provider(): Provider;
  simulator(): SimulatorControl;
}
