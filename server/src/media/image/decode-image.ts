import { AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG, AV_CODEC_ID_WEBP } from 'node-av/constants';
import { Codec, Packet } from 'node-av/lib';
import type { ByteSource } from '../byte-source.ts';
import { openDecoder } from '../decoder.ts';
import { MAX_FLAWS, type MediaFacts, RefusedMedia, requirePixels } from '../measurement.ts';
import { jpegLayout } from './jpeg.ts';
import type { ImageLayout } from './layout.ts';
import { pngIsWhole, pngLayout } from './png.ts';
import { webpLayout } from './webp.ts';

type ImageType = 'image/jpeg' | 'image/png' | 'image/webp';

const FORMATS = {
  'image/jpeg': { codec: AV_CODEC_ID_MJPEG, layoutOf: jpegLayout },
  'image/png': { codec: AV_CODEC_ID_PNG, layoutOf: pngLayout },
  'image/webp': { codec: AV_CODEC_ID_WEBP, layoutOf: webpLayout },
};

/**
 * Decodes all pixels of one still image. An image with an error in them is refused, even if a
 * browser would hide the error. Errors in metadata do not matter: the decoder gets no metadata. It
 * gets the bytes directly, without a demuxer.
 * @throws RefusedMedia
 */
export async function decodeImage(
  file: ByteSource,
  mediaType: ImageType,
  maxPixels: number,
): Promise<MediaFacts> {
  const layout = layoutOf(mediaType, file.read(0, file.sizeBytes));
  const { flaws } = layout;
  if (flaws.length > MAX_FLAWS) throw incomplete();
  requirePixels(layout, maxPixels);
  if (mediaType === 'image/png' && !(await pngIsWhole(layout))) throw incomplete();
  const { width, height } = await decodePixels(mediaType, layout.pixels, maxPixels);
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

async function decodePixels(mediaType: ImageType, bytes: Buffer, maxPixels: number) {
  const codec = Codec.findDecoder(FORMATS[mediaType].codec);
  if (!codec) throw new Error(`no decoder for ${mediaType}`);
  const errorDetection = 'crccheck+bitstream+buffer+explode';
  using decoder = await openDecoder({
    codec,
    maxPixels,
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
