import type {
  Adapter,
  FindOutcome,
  JobStatus,
  SubmitOutcome,
} from '../../../src/providers/provider.ts';

/** A fault that simulators know, see `simulators/kit/faults.ts`. */
export interface PlannedFault {
  kind: string;
  seconds?: number;
  status?: number;
  code?: string;
  word?: string;
  retryAfterSeconds?: number;
}

/**
 * How the suite controls a simulator. For a provider without one, the control reads the
 * provider's own record, and `plan` throws.
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
  /** Makes the job end, if it does not end by itself. */
  finish?(jobId: string): Promise<void>;
  kill(): Promise<void>;
}

/** A provider and the simulator that it is configured for. */
export interface ProviderSubject {
  /** Its submit and read timeouts are about a second, so that stalls cost little time. */
  provider: Adapter;
  simulator: SimulatorControl;
  close(): Promise<void>;
}

/**
 * A refusal that the provider documents, as a fault of the submit, and the outcome that it must
 * become.
 */
export interface RefusalCase {
  fault: Omit<PlannedFault, 'kind'>;
  becomes:
    | Pick<Extract<SubmitOutcome, { fault: 'request' }>, 'fault' | 'code'>
    | { fault: 'busy' | 'operator'; retryAfterSeconds?: number };
}

/** A status that the provider documents, as changes of a simulated job, and what it must become. */
export interface StatusCase {
  says: string;
  changes: Record<string, unknown>;
  becomes: {
    kind: JobStatus['kind'];
    code?: string;
    billed?: boolean | null;
    isProviderFault?: boolean;
  };
}

export interface ProviderCase {
  name: string;
  /** Over HTTP, the faults of a network are tested too. */
  transport: 'http' | 'none';
  /** Starts a simulator with an empty record. Called several times. */
  start(): Promise<ProviderSubject>;
  /** Set-ups in which a find sees no marks, by the name of their tests. */
  unmarked: Record<string, () => Promise<ProviderSubject>>;
  refusals: RefusalCase[];
  statuses: StatusCase[];
  /** Whether a job is found by an id that the attempt gives it, in a list of jobs, or never. */
  find: 'exact' | 'list' | 'none';
  /** What absence proves. */
  absence: Extract<FindOutcome, { kind: 'absent' }>['proof'];
  callbacks: 'none' | 'unsigned' | 'signed';
  hasNoCancel?: true;
  /** It makes a video of each model. Others have ids of their own for them. */
  takesAnyModel?: true;
}

/** What the tests of a suite share. */
export interface Suite {
  of: ProviderCase;
  provider(): Adapter;
  simulator(): SimulatorControl;
}
