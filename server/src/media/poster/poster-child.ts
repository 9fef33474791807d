/** The program of the child processes that draw posters, one after the other. */
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { serveParent } from '../../kernel/child.ts';
import { openByteSource } from '../byte-source.ts';
import { RefusedMedia } from '../measurement.ts';
import { SNIFF_BYTES, sniff } from '../sniff.ts';
import { drawPoster } from './draw-poster.ts';

Log.setLevel(AV_LOG_QUIET);
await serveParent(async (input) => {
  const { path, maxPixels, maxSide } = Object(input);
  using file = openByteSource(String(path));
  try {
    const sniffed = sniff(file.read(0, SNIFF_BYTES));
    if (sniffed?.kind !== 'video') throw new RefusedMedia('not_a_video');
    const { container } = sniffed;
    const limits = { maxPixels: Number(maxPixels), maxSide: Number(maxSide) };
    const webp = await drawPoster(file, { container, ...limits });
    return { webp: webp.toString('base64') };
  } catch (error) {
    if (error instanceof RefusedMedia) return { refused: error.message };
    throw error;
  }
});
