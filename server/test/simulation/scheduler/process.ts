import type { Random } from '../../random.ts';
import type { Lifetime, Scheduler, Thread } from './scheduler.ts';
import type { Trace } from './trace.ts';

/** What befalls a unit of work: it may not begin, or nobody may hear of its end. */
export type UnitFault = 'none' | 'crash_before' | 'refused' | 'response_lost' | 'crash_after';

export type FaultRates = Record<Exclude<UnitFault, 'none'>, number>;

export const NO_FAULTS: FaultRates = {
  crash_before: 0,
  refused: 0,
  response_lost: 0,
  crash_after: 0,
};

/** What is done at once, and by whom it is seen. */
export interface Unit {
  /** For the trace; asked after the work, which may know more then. */
  label(): string;
  /** Not before so many seconds have passed. */
  afterSeconds?: number;
  /** Whether it can fail with an error, beside crashes; true when not given. */
  canFail?: boolean;
}

/** A thread of a simulated process, which a crash ends at a unit of work. */
export interface Process {
  readonly lifetime: Lifetime;
  nowMs(): number;
  sleep(seconds: number): Promise<void>;
  /**
   * Does `work` when it is this thread's turn, while nobody else does anything.
   * @throws ConnectionLost by fate: before the work, or after it as if its reply were lost
   */
  unit<T>(unit: Unit, work: (fault: UnitFault) => Promise<T>): Promise<T>;
}

/** As the driver says it when the other end is gone. */
export class ConnectionLost extends Error {
  constructor() {
    super('Connection terminated unexpectedly');
  }
}

export interface ProcessDeps {
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
  /** What may befall the next unit. */
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
