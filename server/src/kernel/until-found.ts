import { setTimeout as delay } from 'node:timers/promises';

/** Repeats a read until it finds something. When the signal aborts, reads one last time. */
export async function untilFound<Found>(
  { pauseSeconds, signal }: { pauseSeconds: number; signal: AbortSignal },
  read: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  for (;;) {
    const isLast = signal.aborted;
    const found = await read();
    if (found !== undefined || isLast) return found;
    await delay(pauseSeconds * 1000, undefined, { signal }).catch(() => {});
  }
}
