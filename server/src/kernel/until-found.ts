import { setTimeout as delay } from 'node:timers/promises';

/**
 * Repeats a read until it finds something.
 * @param signal ends the wait: the last read follows at once
 * @returns undefined when the last read has found nothing
 */
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
