import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collecting takes about a millisecond. */
const COLLECT_BYTES = 8 * 2 ** 20;

type CollectGarbage = (options?: { type: 'minor' }) => void;

let collect: CollectGarbage | undefined;
let receivedBytes = 0;

/**
 * Counts bytes that were received in buffers of their own and are not needed any more, and collects
 * young garbage from time to time. By itself, the collector waits until 64 MB or more of such
 * buffers are dead, since it sees only the small objects that own them.
 */
export function countReceived(bytes: number): void {
  receivedBytes += bytes;
  if (receivedBytes < COLLECT_BYTES) return;
  receivedBytes = 0;
  collect ??= exposeCollector();
  collect({ type: 'minor' });
}

/** V8's own function. Only a new context has it once the process runs. It collects at once. */
export function exposeCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  const exposed: CollectGarbage = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return exposed;
}
