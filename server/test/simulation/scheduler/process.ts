import { DatabaseUnavailable } from '../../../src/database/database.ts';
import type { Random } from '../../random.ts';
import type { Lifetime, Scheduler, Thread } from './scheduler.ts';
import type { Trace } from './trace.ts';

/** What goes wrong with a unit of work: it may not begin, or its result may get lost. */
type UnitFault = 'none' | 'crash_before' | 'refused' | 'response_lost' | 'crash_after';

export type FaultRates = Record<Exclude<UnitFault, 'none'>, number>;

export const NO_FAULTS: FaultRates = {
  crash_before: 0,
  refused: 0,
  response_lost: 0,
  crash_after: 0,
};

/** A piece of work that no other thread can interrupt. */
interface Unit {
  /** For the trace; called after the work, so that it can describe what was done. */
  label(): string;
  /** The work begins after so many seconds at the earliest. */
  afterSeconds?: number;
  /** Whether it can fail with an error as well as by a crash; true when not given. */
  canFail?: boolean;
}

/** A thread of a simulated process. A crash before or after a unit of work ends it. */
export interface Process {
  readonly lifetime: Lifetime;
  nowMs(): number;
  sleep(seconds: number): Promise<void>;
  /**
   * Does `work` when it is this thread's turn, while no other thread runs.
   * @throws ConnectionLost after a fault `refused`, for which `work` must do nothing, or
   * `response_lost`
   */
  unit<T>(unit: Unit, work: (fault: UnitFault) => Promise<T>): Promise<T>;
}

/** The error of a query whose connection broke. */
export class ConnectionLost extends DatabaseUnavailable {
  constructor() {
    super(new Error('Connection terminated unexpectedly'));
  }
}

interface ProcessDeps {
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
  /** The probability of each fault for the next unit. */
  faults(): FaultRates;
}

export function createProcess(deps: ProcessDeps, thread: Thread, lifetime: Lifetime): Process {
  const { scheduler, random, trace } = deps;
  const drawFault = ({ canFail = true }: Unit): UnitFault => {
    const faults = canFail ? deps.faults() : { ...deps.faults(), refused: 0, response_lost: 0 };
    const sum = Object.values(faults).reduce((total, one) => total + one, 0);
    return random.weighted<UnitFault>({ ...faults, none: 1 - sum });
  };
  const crash = (): Promise<never> => {
    scheduler.end(lifetime);
    return new Promise(() => {});
  };
  return {
    lifetime,
    nowMs: scheduler.nowMs,
    sleep: (seconds) => thread.turn(lifetime, seconds),
    async unit(unit, work) {
      await thread.turn(lifetime, unit.afterSeconds);
      const fault = drawFault(unit);
      if (fault === 'crash_before') {
        trace.note(thread.name, 'dies');
        return crash();
      }
      const result = await work(fault).finally(() => trace.note(thread.name, unit.label(), fault));
      if (fault === 'crash_after') return crash();
      if (fault === 'response_lost' || fault === 'refused') throw new ConnectionLost();
      return result;
    },
  };
}
