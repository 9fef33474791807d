import type { Database } from '../../src/database/database.ts';
import type { ScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createWatch } from '../../src/tasks/attempts/uncertain-since.ts';
import type { StepDeps } from '../../src/tasks/steps/steps.ts';
import { quiet } from '../database.ts';
import type { Random } from '../random.ts';
import { type Cloud, type Day, SUBMIT_TIMEOUT_SECONDS } from './cloud.ts';
import { databaseOf, START_SECONDS } from './database.ts';
import { createProcess, type Faults, NO_FAULTS, type Process } from './process.ts';
import { providerOf } from './provider.ts';
import type { Life, Scheduler, Thread } from './scheduler.ts';
import { doorOf, LINKS, measurerOf, storageOf } from './surroundings.ts';
import type { Tellings } from './tellings.ts';
import type { Trace } from './trace.ts';

/** How one history differs from another, beside the order of its events. */
export interface Setting {
  createWaitSeconds: number;
  faults: Faults;
  /** How the provider takes submits. */
  day: Day;
  workers: number;
  /** Whether processes keep the leases of what they work on, as they should. */
  renewsLeases: boolean;
  /** Whether an operator decides held tasks now and then. */
  hasOperator: boolean;
}

/** Everything that one history happens in. */
export interface World {
  setting: Setting;
  random: Random;
  scheduler: Scheduler;
  trace: Trace;
  cloud: Cloud;
  /** The database as it is, without turns and faults. */
  db: Database;
  scratch: ScratchDirectory;
  shelf: Set<string>;
  tellings: Tellings;
  accountId: string;
  /** Stormy: all may happen. Calm: no more faults, what is under way comes to its end. */
  season: 'stormy' | 'calm' | 'over';
}

/** A process on a thread of the world, and the database as it sees it. */
export function processOn(world: World, thread: Thread, life: Life): Process & { db: Database } {
  const { scheduler, random, trace, setting } = world;
  const faults = () => (world.season === 'stormy' ? setting.faults : NO_FAULTS);
  const process = createProcess({ scheduler, random, trace, faults }, thread, life);
  return { ...process, db: databaseOf(process, world.db, trace) };
}

export function providerFor(world: World, process: Process): Provider {
  const { cloud, random, trace, setting } = world;
  const isCalm = () => world.season !== 'stormy';
  return providerOf(process, {
    ...{ cloud, random, trace, day: setting.day, isCalm },
    epochMs: START_SECONDS * 1000,
  });
}

/** What the task machine works with in a process. */
export function stepPartsOf(world: World, process: Process & { db: Database }): StepDeps {
  const provider = providerFor(world, process);
  const measurer = measurerOf(process);
  return {
    db: process.db,
    scratch: world.scratch,
    storage: storageOf(process, world.shelf),
    guardedFetch: doorOf(process),
    links: LINKS,
    ...{ measurer, outputMeasurer: measurer },
    providerOf: () => provider,
    monotonic: process.nowMs,
    watch: createWatch(process.nowMs),
    pause: process.sleep,
    log: quiet,
    ...{ submitTimeoutSeconds: SUBMIT_TIMEOUT_SECONDS, submitRetrySeconds: 60 },
    ...{ pollMinSeconds: 2, pollMaxSeconds: 40, reconcileSeconds: 60, retentionDays: 30 },
  };
}
