import { createFairSemaphore, type Release } from '../../kernel/fair-semaphore.ts';

interface Turn {
  accountId: string;
  signal?: AbortSignal | undefined;
}

/** A decode that takes longer is a long one. */
const SHORT_SECONDS = 1;
const CHECK_SECONDS = 0.1;

/**
 * Shares the decoding of one process between accounts (decisions/0012). Every decode starts as a
 * short one. After a second it moves to a slot for long decodes; if none is free and others
 * wait, it is aborted and runs again later. One account never has all slots for long decodes,
 * unless there is only one slot.
 */
export function createDecodeTurns(concurrency: number) {
  const short = createFairSemaphore(concurrency);
  const long = createFairSemaphore(concurrency, Math.max(1, concurrency - 1));

  /** @returns 'interrupted' if the decode has to run again in a slot for long decodes */
  async function runShort<T>({ accountId, signal }: Turn, decode: Decode<T>) {
    let release: Release = await short.acquire(accountId, signal);
    const interruption = new AbortController();
    const endChecks = startChecks(SHORT_SECONDS, () => {
      const releaseLong = long.tryAcquire(accountId);
      if (releaseLong) {
        release();
        release = releaseLong;
      } else if (short.isAwaitedByOthers(accountId)) interruption.abort();
      return releaseLong !== null || interruption.signal.aborted;
    });
    try {
      const { signal: interrupted } = interruption;
      const result = await decode(signal ? AbortSignal.any([signal, interrupted]) : interrupted);
      return interrupted.aborted ? ('interrupted' as const) : { result };
    } finally {
      endChecks();
      release();
    }
  }

  return {
    /**
     * Runs `decode` when it is the account's turn; its promise must resolve soon after its
     * signal aborts.
     * @throws the signal's reason when it aborts
     */
    async run<T>(turn: Turn, decode: Decode<T>): Promise<T> {
      const first = await runShort(turn, decode);
      turn.signal?.throwIfAborted();
      if (first !== 'interrupted') return first.result;
      const signal = turn.signal ?? new AbortController().signal;
      return long.run(turn.accountId, signal, () => decode(signal));
    },
  };
}

type Decode<T> = (signal: AbortSignal) => Promise<T>;

/** Calls `check` after a delay and then repeatedly until it returns true, or until stopped. */
function startChecks(afterSeconds: number, check: () => boolean): () => void {
  let timer = setTimeout(repeat, afterSeconds * 1000);
  function repeat() {
    if (!check()) timer = setTimeout(repeat, CHECK_SECONDS * 1000);
  }
  return () => clearTimeout(timer);
}
