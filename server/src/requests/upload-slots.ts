import type { Duplex } from 'node:stream';
import { ApiError } from '../kernel/errors.ts';

/**
 * How many uploads one process receives at a time, in all and per holder. The last `forFirst` free
 * slots are for holders without an upload under way; of these slots, the last `forPaying` are for
 * accounts that have paid.
 */
const UPLOADS_AT_ONCE = { all: 10, perHolder: 3, forFirst: 6, forPaying: 2 };

/**
 * While all slots are taken, an upload slower than one megabit per second may lose its slot to a
 * holder that has none, though not in its first seconds.
 */
const SLOW_UPLOAD = { bytesPerSecond: 125_000, graceSeconds: 5 };

export interface UploadRequester {
  /**
   * Whom the slot counts for: a mailbox, since plus-addresses give one person many accounts, or a
   * visitor's network.
   */
  holder: string;
  /** Whether the account was ever given paid credits. */
  isPaying: boolean;
}

export interface UploadSlot extends UploadRequester {
  since: number;
  /** Bytes received so far. */
  arrived: number;
  bytes?: Duplex;
}

/**
 * An upload that finds no free slot is refused, not queued. A holder that has no slot may take the
 * slowest upload's, if that one is slow.
 * @param options.seconds a monotonic clock
 */
export function openUploadSlots({
  seconds = () => performance.now() / 1000,
  graceSeconds = SLOW_UPLOAD.graceSeconds,
} = {}) {
  const taken = new Set<UploadSlot>();
  const rate = ({ arrived, since }: UploadSlot) => arrived / (seconds() - since);
  const canBeTakenBy = (requester: UploadRequester) => (slot: UploadSlot) =>
    isArriving(slot) &&
    (requester.isPaying || !slot.isPaying) &&
    seconds() - slot.since >= graceSeconds &&
    rate(slot) < SLOW_UPLOAD.bytesPerSecond;
  const slowestFor = (requester: UploadRequester) =>
    [...taken].filter(canBeTakenBy(requester)).sort((a, b) => rate(a) - rate(b))[0];
  return {
    /** @throws ApiError `service_busy` */
    async run<T>(requester: UploadRequester, work: (slot: UploadSlot) => Promise<T>): Promise<T> {
      const own = [...taken].filter(({ holder }) => holder === requester.holder).length;
      if (UPLOADS_AT_ONCE.all - taken.size <= reservedForOthers(requester, own)) {
        const slowest = own === 0 ? slowestFor(requester) : undefined;
        if (!slowest) throw busy('Too many files are being uploaded at the moment.');
        taken.delete(slowest);
        slowest.bytes?.destroy(busy('The file arrives slowly, and others wait.'));
      }
      const slot = { ...requester, since: seconds(), arrived: 0 };
      taken.add(slot);
      return work(slot).finally(() => taken.delete(slot));
    },
  };
}

/** How many free slots are reserved for others. */
function reservedForOthers({ isPaying }: UploadRequester, own: number): number {
  const { perHolder, forFirst, forPaying, all } = UPLOADS_AT_ONCE;
  if (own >= perHolder) return all; // it gets none
  if (own > 0) return forFirst;
  return isPaying ? 0 : forPaying;
}

function isArriving({ bytes }: UploadSlot): boolean {
  return bytes !== undefined && !bytes.writableEnded && !bytes.destroyed;
}

function busy(why: string): ApiError {
  return new ApiError('service_busy', `${why} Try again in a second.`, { retryAfterSeconds: 1 });
}
