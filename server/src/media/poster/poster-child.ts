/** The program of the child processes that draw posters, one after the other. */
import { AV_LOG_QUIET } from 'node-av/constants';
import { type FormatContext, Log } from 'node-av/lib';
import { serveParent } from '../../kernel/child.ts';
import { type ByteSource, openByteSource } from '../byte-source.ts';
import { openDecoder } from '../decoder.ts';
import { RefusedMedia, requirePixels } from '../measurement.ts';
import { SNIFF_BYTES, sniff } from '../sniff.ts';
import {
  closeContainer,
  openContainer,
  packets,
  videoCodec,
  videoStream,
} from '../video/demuxer.ts';
import { createPosterChoice } from './poster-choice.ts';

interface PosterRequest {
  path: string;
  maxPixels: number;
  /** The longer side of the poster, in pixels; a smaller video is not enlarged. */
  maxSide: number;
}

Log.setLevel(AV_LOG_QUIET);
await serveParent(async (input) => {
  const request = input as PosterRequest; // of poster.ts
  using file = openByteSource(request.path);
  try {
    return { webp: (await drawPoster(file, request)).toString('base64') };
  } catch (error) {
    if (error instanceof RefusedMedia) return { refused: error.message };
    throw error;
  }
});

/**
 * Draws an early frame of a video as a small WebP: the first one that is not a plain area, else the
 * least plain one of the first two seconds.
 * @throws RefusedMedia
 */
async function drawPoster(file: ByteSource, request: PosterRequest): Promise<Buffer> {
  const sniffed = sniff(file.read(0, SNIFF_BYTES));
  if (sniffed?.kind !== 'video') throw new RefusedMedia('not_a_video');
  const { maxPixels } = request;
  const input = await openContainer(file, sniffed.container, { maxPixels, looksAhead: true });
  const picture = await choosePicture(input, request);
  await closeContainer(input);
  return picture;
}

async function choosePicture(input: FormatContext, request: PosterRequest): Promise<Buffer> {
  const stream = videoStream(input);
  const { maxPixels, maxSide } = request;
  requirePixels(stream.codecpar, maxPixels);
  using decoder = await openDecoder({
    codec: videoCodec(stream),
    stream,
    maxPixels,
    errorDetection: 'crccheck',
    frames: 'all',
  });
  using choice = createPosterChoice({ stream, maxSide });
  for await (const packet of packets(input, [stream.index])) {
    decoder.decode(packet, choice.offer);
    if (choice.isMade()) break;
  }
  if (!choice.isMade()) decoder.decode(null, choice.offer);
  return await choice.picture();
}
