import type { FormatContext } from 'node-av/lib';
import type { ByteSource } from '../byte-source.ts';
import { RefusedMedia } from '../measurement.ts';
import { SNIFF_BYTES, sniff } from '../sniff.ts';
import {
  closeContainer,
  openContainer,
  openVideoDecoder,
  packets,
  videoStream,
} from '../video/demuxer.ts';
import { createPosterChoice } from './poster-choice.ts';

export interface PosterRequest {
  path: string;
  /** The longer side of the poster, in pixels; a smaller video is not enlarged. */
  maxSide: number;
}

/**
 * Draws the first frame of a video that is not a plain area, else the least plain one of the first
 * two seconds, as a small WebP. @throws RefusedMedia
 */
export async function drawPoster(file: ByteSource, request: PosterRequest): Promise<Buffer> {
  const sniffed = sniff(file.read(0, SNIFF_BYTES));
  if (sniffed?.kind !== 'video') throw new RefusedMedia('not_a_video');
  const input = await openContainer(file, sniffed.container, true);
  const picture = await choosePicture(input, request.maxSide);
  await closeContainer(input);
  return picture;
}

async function choosePicture(input: FormatContext, maxSide: number): Promise<Buffer> {
  const stream = videoStream(input);
  using decoder = await openVideoDecoder(stream, 'all');
  using choice = createPosterChoice({ stream, maxSide });
  for await (const packet of packets(input, [stream.index])) {
    decoder.decode(packet, choice.offer);
    if (choice.isMade()) break;
  }
  if (!choice.isMade()) decoder.decode(null, choice.offer);
  return await choice.picture();
}
