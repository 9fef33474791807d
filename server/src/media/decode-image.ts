import { AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG, AV_CODEC_ID_WEBP } from 'node-av/constants';
import { Codec, Packet } from 'node-av/lib';
import type { ByteSource } from './byte-source.ts';
import { displayedSize, openDecoder } from './decoder.ts';
import { imageLayout } from './image-layout.ts';
import { type MediaFacts, RefusedMedia, requirePixels } from './measurement.ts';

type ImageType = 'image/jpeg' | 'image/png' | 'image/webp';

const CODECS = {
  'image/jpeg': AV_CODEC_ID_MJPEG,
  'image/png': AV_CODEC_ID_PNG,
  'image/webp': AV_CODEC_ID_WEBP,
};

/**
 * Decodes all of one still image. An image with an error is refused, even if a browser would hide
 * the error. The decoder gets the bytes directly, without a demuxer.
 * @throws RefusedMedia
 */
export async function decodeImage(
  file: ByteSource,
  mediaType: ImageType,
  maxPixels: number,
): Promise<MediaFacts> {
  const bytes = file.read(0, file.sizeBytes);
  const layout = imageLayout(mediaType, bytes);
  if (!layout) throw new RefusedMedia('undecodable');
  requirePixels(layout, maxPixels);
  const size = await decodeBytes(CODECS[mediaType], bytes.subarray(0, layout.endBytes), maxPixels);
  return { kind: 'image', mediaType, ...size };
}

async function decodeBytes(codecId: Codec['id'], bytes: Buffer, maxPixels: number) {
  const codec = Codec.findDecoder(codecId);
  if (!codec) throw new Error(`no decoder for codec ${codecId}`);
  const errorDetection = 'crccheck+bitstream+buffer+explode';
  const decoder = await openDecoder({ codec, maxPixels, stream: null, errorDetection });
  const packet = new Packet();
  packet.alloc();
  packet.data = bytes;
  const sizes: { width: number; height: number }[] = [];
  await decoder.decode(packet, (frame) => sizes.push(displayedSize(frame, 1)));
  await decoder.decode(null, (frame) => sizes.push(displayedSize(frame, 1)));
  const first = sizes[0];
  if (!first) throw new RefusedMedia('undecodable');
  return first;
}
