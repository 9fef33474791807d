import {
  FF_DECODER_LIBVPX_VP8,
  FF_DECODER_MJPEG,
  FF_DECODER_PNG,
  FF_DECODER_WEBP,
  type FFVideoDecoder,
} from 'node-av/constants';
import { Codec, Packet } from 'node-av/lib';
import type { ByteSource } from '../byte-source.ts';
import { openDecoder } from '../decoder.ts';
import { limitPixels, type MediaFacts, PIXEL_BOUNDS, RefusedMedia } from '../measurement.ts';
import { jpegLayout } from './jpeg.ts';
import { type ImageLayout, MAX_FLAWS } from './layout.ts';
import { pngIsWhole, pngLayout } from './png.ts';
import { webpLayout } from './webp.ts';

type ImageType = 'image/jpeg' | 'image/png' | 'image/webp';

const FORMATS = {
  'image/jpeg': { decoder: FF_DECODER_MJPEG, layoutOf: jpegLayout },
  'image/png': { decoder: FF_DECODER_PNG, layoutOf: pngLayout },
  'image/webp': { decoder: FF_DECODER_WEBP, layoutOf: webpLayout },
};

/**
 * Decodes all pixels of one still image, and refuses it for any error in them, even one that a
 * browser would hide. The decoder gets no metadata, and no demuxer runs. Why not sharp:
 * decisions/0063.
 * @throws RefusedMedia
 */
export async function decodeImage(file: ByteSource, mediaType: ImageType): Promise<MediaFacts> {
  const layout = layoutOf(mediaType, file.read(0, file.sizeBytes));
  const { flaws, lossy } = layout;
  if (flaws.length > MAX_FLAWS) throw incomplete();
  limitPixels(layout, PIXEL_BOUNDS.imagePixels);
  if (lossy) limitPixels(lossy, PIXEL_BOUNDS.imagePixels);
  if (mediaType === 'image/png' && !(await pngIsWhole(layout))) throw incomplete();
  const { width, height } = await decodePixels(mediaType, layout);
  const isTurned = layout.orientation >= 5; // 5 to 8 swap rows and columns
  const size = isTurned ? { width: height, height: width } : { width, height };
  return { kind: 'image', mediaType, ...size, ...(flaws.length > 0 ? { flaws } : {}) };
}

function layoutOf(mediaType: ImageType, bytes: Buffer): ImageLayout {
  try {
    const layout = FORMATS[mediaType].layoutOf(bytes);
    if (layout) return layout;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // a field is past the end
  }
  throw incomplete();
}

function incomplete(): RefusedMedia {
  return new RefusedMedia('undecodable', { explanation: 'The image is damaged or incomplete.' });
}

/** FFmpeg's own decoder of VP8 accepts a frame that is cut off; libvpx does not. */
async function decodePixels(mediaType: ImageType, layout: ImageLayout) {
  const { pixels, lossy } = layout;
  const size = lossy && (await decodeWith(FF_DECODER_LIBVPX_VP8, lossy.frame));
  if (size && !lossy.hasAlpha) return size;
  return decodeWith(FORMATS[mediaType].decoder, pixels);
}

async function decodeWith(name: FFVideoDecoder, bytes: Buffer) {
  const codec = Codec.findDecoderByName(name);
  if (!codec) throw new Error(`FFmpeg has no decoder ${name}`);
  const errorDetection = 'crccheck+bitstream+buffer+explode';
  using decoder = await openDecoder({
    codec,
    maxPixels: PIXEL_BOUNDS.imagePixels,
    stream: null,
    errorDetection,
    frames: 'all',
  });
  using packet = new Packet();
  packet.alloc();
  packet.data = bytes;
  const sizes: { width: number; height: number }[] = [];
  decoder.decode(packet, ({ width, height }) => sizes.push({ width, height }));
  decoder.decode(null, ({ width, height }) => sizes.push({ width, height }));
  const first = sizes[0];
  if (!first) throw new RefusedMedia('undecodable');
  return first;
}
