import type { Random } from '../random.ts';
import type { Life, Scheduler, Thread } from './scheduler.ts';
import type { Trace } from './trace.ts';

/** What befalls a unit of work: it may not begin, or nobody may hear of its end. */
export type Fate = 'well' | 'crash_before' | 'refused' | 'reply_lost' | 'crash_after';

export type Faults = Record<Exclude<Fate, 'well'>, number>;

export const NO_FAULTS: Faults = { crash_before: 0, refused: 0, reply_lost: 0, crash_after: 0 };

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
  readonly life: Life;
  nowMs(): number;
  sleep(seconds: number): Promise<void>;
  /**
   * Does `work` when it is this thread's turn, while nobody else does anything.
   * @throws ConnectionLost by fate: before the work, or after it as if its reply were lost
   */
  unit<T>(unit: Unit, work: (fate: Fate) => Promise<T>): Promise<T>;
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
  faults(): Faults;
}

export function createProcess(deps: ProcessDeps, thread: Thread, life: Life): Process {
  const { scheduler, random, trace } = deps;
  const drawFate = ({ canFail = true }: Unit): Fate => {
    const faults = canFail ? deps.faults() : { ...deps.faults(), refused: 0, reply_lost: 0 };
    const sum = Object.values(faults).reduce((total, one) => total + one, 0);
    return random.weighted<Fate>({ ...faults, well: 1 - sum });
  };
  const crash = (): Promise<never> => {
    scheduler.end(life);
    return new Promise(() => {});
  };
  return {
    life,
    nowMs: scheduler.nowMs,
    sleep: (seconds) => thread.turn(life, seconds),
    async unit(unit, work) {
      await thread.turn(life, unit.afterSeconds);
      const fate = drawFate(unit);
      if (fate === 'crash_before') {
        trace.note(thread.name, 'dies');
        return crash();
      }
      const result = await work(fate).finally(() => trace.note(thread.name, unit.label(), fate));
      if (fate === 'crash_after') return crash();
      if (fate === 'reply_lost' || fate === 'refused') throw new ConnectionLost();
      return result;
    },
  };
}
