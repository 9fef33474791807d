import { afterExifPrefix, exifOrientation, type ImageLayout } from './layout.ts';

/** Adobe's segment: the decoder reads from it how colours are stored. */
const APP14 = 0xee;

/** Walks the segments up to the end marker (ITU T.81, annex B). @throws RangeError past the end */
export function jpegLayout(bytes: Buffer): ImageLayout | null {
  let size: { width: number; height: number } | null = null;
  let orientation: number | null = null;
  const kept: Buffer[] = [];
  let keptTo = 0;
  for (let at = 2; at < bytes.length; ) {
    if (bytes.readUInt8(at) !== 0xff) at = bytes.indexOf(0xff, at);
    if (at < 0) return null;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xd9) {
      kept.push(bytes.subarray(keptTo, at + 2));
      const pixels = Buffer.concat(kept);
      return size && { ...size, orientation: orientation ?? 1, pixels, flaws: [] };
    }
    if (isStartOfFrame(marker)) {
      size ??= { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    }
    const end = at + (hasLength(marker) ? 2 + bytes.readUInt16BE(at + 2) : marker === 0xff ? 1 : 2);
    if (isMetadata(marker)) {
      const exif = afterExifPrefix(bytes.subarray(at + 4, end));
      if (exif) orientation ??= exifOrientation(exif);
      kept.push(bytes.subarray(keptTo, at));
      keptTo = end;
    }
    at = end;
  }
  return null;
}

/** SOF0 to SOF15, without DHT, JPG and DAC, which share their range. */
function isStartOfFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

/** A stuffed zero, TEM, a restart, a start of image and fill bytes have no length field. */
function hasLength(marker: number): boolean {
  return marker >= 0xc0 && marker !== 0xff && !(marker >= 0xd0 && marker <= 0xd8);
}

/** Application data and comments. */
function isMetadata(marker: number): boolean {
  return (marker >= 0xe0 && marker <= 0xef && marker !== APP14) || marker === 0xfe;
}
