import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { DigestCheck } from './body-digest.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { DownloadSession } from './download-session.ts';
import type { PinnedResponse } from './pinned-request.ts';
import { OutboundError } from './refusal.ts';

const DECODERS = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
};

/**
 * The decoded body of a response. Requests ask for no content encoding; a host may use one anyway,
 * and its body is then decoded while it is read.
 * @throws OutboundError not_reachable for an unknown encoding or more than one; too_large when the
 *   content length is more than the budget has left
 */
export function openBody(response: PinnedResponse, budget: ByteBudget): Readable {
  const encoding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity' || encoding === '') {
    budget.requireRemaining(Number(response.headers['content-length'] ?? 0));
    return response.body;
  }
  if (!isDecodable(encoding)) {
    throw new OutboundError('not_reachable', 'The host used an unknown content encoding');
  }
  // A failure destroys the returned stream, so that its reader gets the error.
  return pipeline(response.body, DECODERS[encoding](), () => {});
}

function isDecodable(encoding: string): encoding is keyof typeof DECODERS {
  return Object.hasOwn(DECODERS, encoding);
}

interface Counting {
  budget: ByteBudget;
  session: DownloadSession;
  pace: Pace;
  digest: DigestCheck | undefined;
}

/** Yields a body's chunks as they arrive and counts them. Ends the session when iteration ends. */
export async function* countedChunks(
  body: Readable,
  { budget, session, pace, digest }: Counting,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    session.signal.throwIfAborted();
    const watch = watchPace(pace);
    for await (const chunk of body) {
      budget.take(chunk.length);
      watch.arrived(chunk.length);
      digest?.update(chunk);
      yield chunk;
      watch.resume();
    }
    digest?.end();
    session.keepClients();
  } catch (failure) {
    throw session.failureOf(failure);
  } finally {
    await session.end();
  }
}

/** How fast a host must send on average, once the grace period is over. */
export interface Pace {
  graceSeconds: number;
  bytesPerSecond: number;
}

/** Measures how fast a host sends. The time that the reader takes between chunks does not count. */
function watchPace({ graceSeconds, bytesPerSecond }: Pace) {
  let waitedSeconds = 0;
  let bytes = 0;
  let since = performance.now();
  return {
    /** @throws OutboundError too_slow */
    arrived(length: number) {
      waitedSeconds += (performance.now() - since) / 1000;
      bytes += length;
      if (waitedSeconds < graceSeconds || bytes >= waitedSeconds * bytesPerSecond) return;
      const details = { bytes_per_second: Math.round(bytes / waitedSeconds) };
      throw new OutboundError('too_slow', 'The host sends too slowly', { details });
    },
    resume() {
      since = performance.now();
    },
  };
}
