/** The program of the child processes that measure files, one after the other. */
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { serveParent } from '../kernel/child.ts';
import { type ByteSource, openByteSource } from './byte-source.ts';
import { decodeImage } from './image/decode-image.ts';
import { type MeasureRequest, RefusedMedia, StoppedDecode } from './measurement.ts';
import { SNIFF_BYTES, sniff } from './sniff.ts';
import { decodeVideo } from './video/decode-video.ts';

Log.setLevel(AV_LOG_QUIET);
await serveParent(async (input) => {
  const request = input as MeasureRequest; // from measure.ts
  using file = openByteSource(request.path);
  try {
    const { facts, poster, hashes } = await decode(file, request);
    return {
      kind: 'measured',
      facts,
      ...(poster && { poster: poster.toString('base64') }),
      ...(hashes.length > 0 && { hashes }),
    };
  } catch (error) {
    if (error instanceof RefusedMedia || error instanceof StoppedDecode) return error.measurement;
    throw error;
  }
});

async function decode(file: ByteSource, request: MeasureRequest) {
  const sniffed = sniff(file.read(0, SNIFF_BYTES));
  if (sniffed?.kind !== request.expected) {
    throw new RefusedMedia(request.expected === 'image' ? 'not_an_image' : 'not_a_video');
  }
  if (sniffed.kind === 'video') return decodeVideo(file, sniffed.container, request);
  return { facts: await decodeImage(file, sniffed.mediaType), poster: null, hashes: [] };
}
