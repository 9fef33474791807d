import { type Duplex, finished, PassThrough, type Readable } from 'node:stream';
import { type ApiError, invalidRequest } from '../../kernel/errors.ts';

/** Node skips the ticks that a suspended process misses: a suspension counts as one of these. */
const TICKS = 10;

/** An upload must bring so many bytes in each of these times. */
export interface MinRate {
  bytes: number;
  seconds: number;
}

/**
 * The bytes of a body, which end with an error if they arrive too slowly. A reader that stops early
 * does not close the connection, as it would with the body itself: the client gets its response,
 * and the rest of the body is dropped.
 * @param onArrived is called with the number of bytes of each part
 * @throws ApiError `invalid_request` with the reason `too_slow`, in the stream
 */
export function uploadBody(
  body: Readable,
  { bytes: min, seconds }: MinRate,
  onArrived: (bytes: number) => void = () => {},
): Duplex {
  const passed = new PassThrough();
  let arrived = 0;
  let ticks = 0;
  const tick = () => {
    ticks += 1;
    if (ticks % TICKS > 0) return;
    // A body that is paused has brought more than this service could write.
    if (arrived < min && !body.isPaused()) passed.destroy(tooSlow());
    arrived = 0;
  };
  const timer = setInterval(tick, (seconds * 1000) / TICKS);
  const stop = () => clearInterval(timer);
  body.on('data', ({ length }: Buffer) => {
    arrived += length;
    onArrived(length);
  });
  // Also when the time limit of the route has destroyed the body, which then emits only `close`.
  finished(body, (error) => {
    stop();
    if (error) passed.destroy(error);
  });
  // Reported to the reader; without this listener an unread body would crash the process.
  passed.on('error', () => {});
  // After `pipe`, which pauses the body when `passed` closes.
  return body.pipe(passed).once('close', () => {
    stop();
    body.resume();
  });
}

function tooSlow(): ApiError {
  const message = 'The file arrives too slowly. Try again, or with a smaller file.';
  return invalidRequest(message, { field: 'file', reason: 'too_slow' });
}
