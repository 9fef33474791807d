import { pipeline, Readable, Transform } from 'node:stream';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { ByteRange } from '../storage.ts';

/**
 * The response to a read must begin within this time, with all tries of the SDK: a client waits
 * for it. So a store that is silent is asked once.
 */
const OPEN_SECONDS = 5;
/** A store that sends nothing for this long, although its bytes are wanted, is given up. */
const SILENCE_MS = 30_000;
const LOOK_MS = 1_000;

/**
 * Opens an object or a range of it. The bytes of a whole object are compared with the checksum that
 * they were stored with; the stream fails at its end if they differ, or if it is cut.
 * @throws the store's error
 */
export async function openObjectStream(
  client: S3Client,
  source: { bucket: string; key: string; range: ByteRange | undefined },
): Promise<Readable> {
  const { bucket: Bucket, key: Key, range } = source;
  const get = new GetObjectCommand({
    Bucket,
    Key,
    ...(range ? { Range: `bytes=${range.first}-${range.last}` } : { ChecksumMode: 'ENABLED' }),
  });
  const { Body } = await inTime((options) => client.send(get, options));
  if (!(Body instanceof Readable)) throw new Error('the store sent no body');
  return observed(Body);
}

/** Ends a call that gets no response in time. The body of its response may take longer. */
export async function inTime<Response>(
  call: (options: { abortSignal: AbortSignal }) => Promise<Response>,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), OPEN_SECONDS * 1000);
  try {
    return await call({ abortSignal: late.signal });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    throw new Error(`the storage did not respond within ${OPEN_SECONDS} s`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The bytes of `body`. It fails when the store is silent; `body` ends when its reader does. */
function observed(body: Readable): Readable {
  let lastMs = performance.now();
  const bytes = new Transform({
    transform(chunk, _encoding, done) {
      lastMs = performance.now();
      done(null, chunk);
    },
  });
  const looking = setInterval(() => {
    if (bytes.writableNeedDrain)
      lastMs = performance.now(); // the reader is slow, not the store
    else if (performance.now() - lastMs > SILENCE_MS) {
      body.destroy(new Error(`the storage sent nothing for ${SILENCE_MS / 1000} s`));
    }
  }, LOOK_MS);
  pipeline(body, bytes, () => clearInterval(looking));
  return bytes;
}
