import type { ImageLayout } from '../media/image/layout.ts';
import { pngLayout } from '../media/image/png.ts';
import { webpLayout } from '../media/image/webp.ts';
import { RefusedMedia } from '../media/measurement.ts';
import { sniff } from '../media/sniff.ts';

/** In base64, a logo of this size fits into a request of the console (BODY_BYTES). */
export const LOGO_BYTES = 32 * 1024;
const MAX_SIDE = 1024;

export interface Logo {
  bytes: Buffer;
  mediaType: 'image/png' | 'image/webp';
  width: number;
  height: number;
}

/** @param given the file in base64 */
export function checkLogo(given: string, refuse: (bound: string) => never): string {
  if (Buffer.byteLength(given, 'base64') > LOGO_BYTES) {
    refuse(`must have at most ${LOGO_BYTES} bytes`);
  }
  const logo = readLogo(given) ?? refuse('must be a whole, still PNG or WebP image');
  if (Math.max(logo.width, logo.height) > MAX_SIDE) {
    refuse(`must be at most ${MAX_SIDE} pixels wide and high`);
  }
  return logo.bytes.toString('base64');
}

/** @param base64 the file. @returns undefined unless its bytes are a PNG or a WebP */
export function readLogo(base64: string): Logo | undefined {
  const bytes = Buffer.from(base64, 'base64');
  const found = sniff(bytes);
  if (found?.kind !== 'image' || found.mediaType === 'image/jpeg') return undefined;
  const { mediaType } = found;
  const layout = layoutOf(mediaType === 'image/png' ? pngLayout : webpLayout, bytes);
  if (!layout || layout.width * layout.height === 0) return undefined;
  return { bytes, mediaType, width: layout.width, height: layout.height };
}

function layoutOf(read: (bytes: Buffer) => ImageLayout | null, bytes: Buffer) {
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof RangeError || error instanceof RefusedMedia) return null;
    throw error;
  }
}
