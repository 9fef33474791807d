import type { Random } from '../random.ts';

/** What a crash ends: whatever belongs to it never goes on. */
export interface Life {
  isOver(): boolean;
  over: Promise<void>;
}

/** One thread of control. It goes on only when it is its turn, and then nobody else does. */
export interface Thread {
  readonly name: string;
  /**
   * Waits for the turn, not before `afterSeconds` have passed. Never returns once the life is over.
   */
  turn(life: Life, afterSeconds?: number): Promise<void>;
}

/** Lets threads go on one at a time, in an order and at moments that the seed decides. */
export interface Scheduler {
  /** The simulation's time, in milliseconds since its start. It stands still during a turn. */
  nowMs(): number;
  /** Turns taken so far. */
  turns(): number;
  start(name: string, body: (thread: Thread) => Promise<void>): void;
  newLife(): Life;
  /** Ends a life: its threads never go on. */
  end(life: Life): void;
  /** Resolves when every thread has ended; rejects with the first error of one. */
  run(): Promise<void>;
}

interface Waiting {
  name: string;
  life: Life;
  readyAtMs: number;
  goOn(): void;
}

/** How often time passes although somebody could go on, and how much: a process was paused. */
const PAUSES = [
  { probability: 0.15, least: 0.01, most: 1 },
  { probability: 0.02, least: 1, most: 6 },
  { probability: 0.008, least: 8, most: 45 },
];

/** @param haste how rarely processes are paused: 1 as often as {@link PAUSES} says, 10 a tenth */
export function createScheduler(random: Random, haste: number): Scheduler {
  const endings = new Map<Life, () => void>();
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
      if (random.chance(probability / haste))
        nowMs += Math.round(random.between(least, most) * 1000);
    }
  };
  const threadOf = (name: string): Thread => ({
    name,
    turn: (life, afterSeconds = 0) => {
      if (life.isOver()) return new Promise(() => {});
      return new Promise((goOn) => {
        waiting.push({ name, life, readyAtMs: nowMs + Math.ceil(afterSeconds * 1000), goOn });
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
    newLife() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const life: Life = { isOver: () => !endings.has(life), over: promise };
      endings.set(life, resolve);
      return life;
    },
    end(life) {
      running += waiting.filter((one) => one.life === life).length; // they run to their end now
      waiting = waiting.filter((one) => one.life !== life);
      endings.get(life)?.();
      endings.delete(life);
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
        next.goOn();
      }
    },
  };
}

/** Does the work of a life. @returns undefined when the life was over first */
export function within<T>(life: Life, work: () => Promise<T>): Promise<T | undefined> {
  return Promise.race([work(), life.over.then(() => undefined)]);
}
