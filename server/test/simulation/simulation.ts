import { createFirstSeen } from '../../src/attempts/find-job.ts';
import type { Database } from '../../src/database/database.ts';
import type { ScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import {
  createModeration,
  type ModerationChecks,
  type ModerationDeps,
} from '../../src/moderation/moderate.ts';
import { createProviderBreaker } from '../../src/providers/circuit-breaker/breaker.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { VideoTask } from '../../src/requests/video-task.ts';
import { providerFor, type StepDeps } from '../../src/worker/steps.ts';
import { quiet } from '../database.ts';
import type { Random } from '../random.ts';
import { databaseOf, START_SECONDS } from './database.ts';
import { guardedFetchOf, LINKS, measurerOf, moderatorOf, storageOf } from './fake-deps.ts';
import { providerOf } from './provider.ts';
import {
  type ProviderState,
  type SimulatedJob,
  SUBMIT_CALL_SECONDS,
  type SubmitWeights,
} from './provider-state.ts';
import { createProcess, type FaultRates, NO_FAULTS, type Process } from './scheduler/process.ts';
import { type Lifetime, type Scheduler, type Thread, within } from './scheduler/scheduler.ts';
import type { Trace } from './scheduler/trace.ts';

/** How histories differ, apart from the order of their events. */
export interface SimulationSettings {
  createWaitSeconds: number;
  faults: FaultRates;
  /** How the provider treats submits. */
  submitWeights: SubmitWeights;
  workers: number;
  /** Whether processes renew their leases, as the service does. */
  renewsLeases: boolean;
  /** Whether an operator decides held tasks now and then. */
  hasOperator: boolean;
  /** Whether requests are moderated, and somebody decides reviews. */
  isModerated: boolean;
}

/** Everything that the threads of one history share. */
export interface Simulation {
  settings: SimulationSettings;
  random: Random;
  scheduler: Scheduler;
  trace: Trace;
  /** The connections that take tasks, in the order in which they are tried. */
  route: ProviderState[];
  /** The provider of tasks of test keys. */
  testState: ProviderState;
  /** How often customers did what, beside creates. */
  acts: Map<string, number>;
  /** The database itself, without turns and faults. */
  db: Database;
  scratch: ScratchDirectory;
  storedObjects: Set<string>;
  observations: Observations;
  accountId: string;
  /** `faulty`: faults occur. `calm`: no more faults, all tasks are worked to their end. */
  stage: 'faulty' | 'calm' | 'over';
}

/** A process on a thread of the simulation, and the database as it sees it. */
export function processOn(
  simulation: Simulation,
  thread: Thread,
  lifetime: Lifetime,
): Process & { db: Database } {
  const { scheduler, random, trace, settings } = simulation;
  const faults = () => (simulation.stage === 'faulty' ? settings.faults : NO_FAULTS);
  const process = createProcess({ scheduler, random, trace, faults }, thread, lifetime);
  return { ...process, db: databaseOf(process, simulation.db, trace) };
}

/**
 * Does work in a process of its own, which ends with it.
 * @returns undefined when the process died
 */
export async function inProcess<T>(
  simulation: Simulation,
  thread: Thread,
  work: (process: Process & { db: Database }) => Promise<T>,
): Promise<T | undefined> {
  const { scheduler } = simulation;
  const process = processOn(simulation, thread, scheduler.newLifetime());
  const result = await within(process.lifetime, () => work(process));
  scheduler.end(process.lifetime);
  return result;
}

/** Those of the route, and that of test keys. */
export function allStates({ route, testState }: Simulation): ProviderState[] {
  return [...route, testState];
}

/** The jobs of all providers. */
export function allJobs(simulation: Simulation): SimulatedJob[] {
  return allStates(simulation).flatMap(({ jobs }) => jobs);
}

export function namesOf(states: ProviderState[]): string[] {
  return states.map(({ profile }) => profile.name);
}

/** All providers, by their names. */
export function providersOn(simulation: Simulation, process: Process): Map<string, Provider> {
  const providers = allStates(simulation).map((state) => providerOn(simulation, process, state));
  return new Map(providers.map((provider) => [provider.name, provider]));
}

function providerOn(
  simulation: Simulation,
  process: Process,
  providerState: ProviderState,
): Provider {
  const { random, trace, settings } = simulation;
  const isCalm = () => simulation.stage !== 'faulty';
  return providerOf(process, {
    providerState,
    random,
    trace,
    submitWeights: settings.submitWeights,
    isCalm,
    epochMs: START_SECONDS * 1000,
  });
}

const MODERATED: ModerationChecks = {
  words: undefined,
  service: {
    kind: 'webhook',
    url: 'https://moderation.test/',
    secret: undefined,
    model: undefined,
    sendsImages: true,
    timeoutSeconds: 10,
  },
  onFailure: 'closed',
};
const REVIEW_SECONDS = 200;

function moderationOf(
  { settings, random }: Simulation,
  process: Process,
  deps: Pick<ModerationDeps, 'db' | 'log' | 'breaker' | 'submitRetrySeconds'>,
) {
  if (!settings.isModerated) return undefined;
  const outbound = moderatorOf(process, random);
  return createModeration(MODERATED, {
    ...deps,
    outbound,
    links: LINKS,
    reviewSeconds: REVIEW_SECONDS,
  });
}

/** The dependencies of the steps in a process. */
export function stepDepsOf(simulation: Simulation, process: Process & { db: Database }): StepDeps {
  const providers = providersOn(simulation, process);
  const measurer = measurerOf(process);
  const common = {
    db: process.db,
    log: quiet,
    breaker: createProviderBreaker({ db: process.db, log: quiet }),
    submitRetrySeconds: 60,
  };
  return {
    ...common,
    moderation: moderationOf(simulation, process, common),
    scratch: simulation.scratch,
    storage: storageOf(process, simulation.storedObjects),
    guardedFetch: guardedFetchOf(process),
    links: LINKS,
    measurer,
    outputMeasurer: measurer,
    outputFrames: 'keyframes',
    drawsPosters: true,
    credentials: undefined,
    providerOf: (task) => providerFor(providers, task),
    routing: {
      next(_, tried) {
        const connection = namesOf(simulation.route).find((name) => !tried.includes(name));
        return connection === undefined ? undefined : { connection };
      },
      modelIdOf: () => undefined,
      retriesFailed: () => true,
    },
    monotonic: process.nowMs,
    wallClock: process.nowMs,
    firstSeen: createFirstSeen(process.nowMs),
    pause: process.sleep,
    submitTimeoutSeconds: SUBMIT_CALL_SECONDS,
    pollMinSeconds: 2,
    pollMaxSeconds: 40,
    reconcileSeconds: 60,
    reviewSeconds: REVIEW_SECONDS,
    retentionDays: 30,
  };
}

/**
 * What a response told a client. `bound`: the key is bound to this task for good. `refunded`: this
 * task failed and its credits are refunded. `busy`: retry later; the response names no task.
 */
export type ClientObservation = { client: string; key: string } & (
  | { kind: 'bound'; taskId: string; status: VideoTask['status'] | 'held' }
  | { kind: 'refunded'; taskId: string }
  | { kind: 'busy' }
  | { kind: 'no_credits' }
);

/** All observations of the clients in a history, oldest first. */
type Observations = ReturnType<typeof createObservations>;

export function createObservations() {
  const observations: ClientObservation[] = [];
  return {
    add: (observation: ClientObservation) => void observations.push(observation),
    all: (): readonly ClientObservation[] => observations,
    /** The newest task that a response for the key named to this client. */
    taskOf(client: string, key: string) {
      const observed = observations.findLast(
        (one) => one.client === client && one.key === key && 'taskId' in one,
      );
      return observed && 'taskId' in observed ? observed.taskId : undefined;
    },
  };
}
