import type { FormatContext } from 'node-av/lib';
import type { ByteSource } from '../byte-source.ts';
import { openDecoder } from '../decoder.ts';
import { requirePixels } from '../measurement.ts';
import { closeContainer, openContainer, packets } from '../video/demuxer.ts';
import { videoCodec, videoStream } from '../video/streams.ts';
import { createPosterChoice } from './poster-choice.ts';

export interface PosterOptions {
  container: 'mov' | 'matroska';
  maxPixels: number;
  /** The longer side of the poster, in pixels; a smaller video is not enlarged. */
  maxSide: number;
}

/**
 * Draws an early frame of a video as a small WebP: the first one that is not a plain area, else the
 * least plain one of the first two seconds.
 * @throws RefusedMedia
 */
export async function drawPoster(file: ByteSource, options: PosterOptions): Promise<Buffer> {
  const { container, maxPixels } = options;
  const input = await openContainer(file, container, { maxPixels, looksAhead: true });
  const picture = await choosePicture(input, options);
  await closeContainer(input);
  return picture;
}

async function choosePicture(input: FormatContext, options: PosterOptions): Promise<Buffer> {
  const stream = videoStream(input);
  requirePixels(stream.codecpar, options.maxPixels);
  using decoder = await openDecoder({
    codec: videoCodec(stream),
    stream,
    maxPixels: options.maxPixels,
    errorDetection: 'crccheck',
    frames: 'all',
  });
  using choice = createPosterChoice({ stream, maxSide: options.maxSide });
  for await (const packet of packets(input, [stream.index])) {
    decoder.decode(packet, choice.offer);
    if (choice.isMade()) break;
  }
  if (!choice.isMade()) decoder.decode(null, choice.offer);
  return await choice.picture();
}
