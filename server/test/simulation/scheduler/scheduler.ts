import type { Random } from '../../random.ts';

/** The lifetime of a process, which a crash ends: the threads in it then never continue. */
export interface Lifetime {
  isOver(): boolean;
  over: Promise<void>;
}

/** One thread of control. It runs only when it is its turn, and then no other thread runs. */
export interface Thread {
  readonly name: string;
  /**
   * Waits for its turn, at least for `afterSeconds`. Never returns once the lifetime is over.
   */
  turn(lifetime: Lifetime, afterSeconds?: number): Promise<void>;
}

/** Runs threads one at a time, in an order and at moments that the seed decides. */
export interface Scheduler {
  /** The simulation's time, in milliseconds since its start. It does not change during a turn. */
  nowMs(): number;
  /** Turns taken so far. */
  turns(): number;
  start(name: string, body: (thread: Thread) => Promise<void>): void;
  newLifetime(): Lifetime;
  /** Ends a lifetime: its threads never continue. */
  end(lifetime: Lifetime): void;
  /** Resolves when every thread has ended; rejects with the first error of one. */
  run(): Promise<void>;
}

interface Waiting {
  name: string;
  lifetime: Lifetime;
  readyAtMs: number;
  resume(): void;
}

/** How often time passes although a thread is ready, and how much: its process was paused. */
const PAUSES = [
  { probability: 0.15, least: 0.01, most: 1 },
  { probability: 0.02, least: 1, most: 6 },
  { probability: 0.008, least: 8, most: 45 },
];

/** @param pauseDivisor divides the probabilities of {@link PAUSES} */
export function createScheduler(random: Random, pauseDivisor: number): Scheduler {
  const endings = new Map<Lifetime, () => void>();
  let waiting: Waiting[] = [];
  let running = 0;
  let failure: unknown;
  let nowMs = 0;
  let turns = 0;
  let allWait = () => {};

  const rest = () => {
    running -= 1;
    if (running < 0) throw new Error('one thread waits for two turns at once');
    if (running === 0) allWait();
  };
  const passTime = () => {
    nowMs += 1; // no two turns happen at the same moment
    const earliest = Math.min(...waiting.map(({ readyAtMs }) => readyAtMs));
    nowMs = Math.max(nowMs, earliest);
    for (const { probability, least, most } of PAUSES) {
      if (random.chance(probability / pauseDivisor))
        nowMs += Math.round(random.between(least, most) * 1000);
    }
  };
  const threadOf = (name: string): Thread => ({
    name,
    turn: (lifetime, afterSeconds = 0) => {
      if (lifetime.isOver()) return new Promise(() => {});
      return new Promise((resume) => {
        waiting.push({ name, lifetime, readyAtMs: nowMs + Math.ceil(afterSeconds * 1000), resume });
        rest();
      });
    },
  });
  return {
    nowMs: () => nowMs,
    turns: () => turns,
    start(name, body) {
      running += 1;
      body(threadOf(name))
        .catch((error: unknown) => {
          failure ??= error;
        })
        .finally(rest);
    },
    newLifetime() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const lifetime: Lifetime = { isOver: () => !endings.has(lifetime), over: promise };
      endings.set(lifetime, resolve);
      return lifetime;
    },
    end(lifetime) {
      // Their calls of `within` return now, so these threads run.
      running += waiting.filter((one) => one.lifetime === lifetime).length;
      waiting = waiting.filter((one) => one.lifetime !== lifetime);
      endings.get(lifetime)?.();
      endings.delete(lifetime);
    },
    async run() {
      for (;;) {
        if (running > 0) await new Promise<void>((resolve) => (allWait = resolve));
        if (failure !== undefined) throw failure;
        if (waiting.length === 0) return;
        passTime();
        const next = random.pick(waiting.filter(({ readyAtMs }) => readyAtMs <= nowMs));
        waiting = waiting.filter((one) => one !== next);
        turns += 1;
        running += 1;
        next.resume();
      }
    },
  };
}

/** Does work within a lifetime. @returns undefined when the lifetime was over first */
export function within<T>(lifetime: Lifetime, work: () => Promise<T>): Promise<T | undefined> {
  return Promise.race([work(), lifetime.over.then(() => undefined)]);
}
