/** An image with more flaws is refused. */
export const MAX_FLAWS = 1000;

/** Bytes of a file: `from` is the first one, `to` the one after the last. */
export interface FilePart {
  from: number;
  to: number;
}

/** The structure of an image, read before it is decoded. */
export interface ImageLayout {
  /** As stored: the orientation is not applied. */
  width: number;
  height: number;
  orientation: number;
  /** The image without metadata and trailing bytes: only pixels are decoded. */
  pixels: Buffer;
  lossy?: LossyPicture;
  /**
   * Parts beside the pixels at which other programs may fail, in order. They are cut out of the
   * copy that a provider gets (`without-flaws.ts`).
   */
  flaws: FilePart[];
}

/** The VP8 frame of a lossy WebP. */
interface LossyPicture {
  width: number;
  height: number;
  frame: Buffer;
  hasAlpha: boolean;
}

const ORIENTATION = 0x0112;
const ENTRY_BYTES = 12;

/**
 * The orientation (1 to 8) in EXIF data, a TIFF file (CIPA DC-008, 4.6.2); 1 if it has none. No
 * other entry is read, so faults in them do not matter.
 */
export function exifOrientation(tiff: Buffer): number {
  const byteOrder = tiff.toString('latin1', 0, 2);
  if (byteOrder !== 'MM' && byteOrder !== 'II') return 1;
  const isLittle = byteOrder === 'II';
  const u16 = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  try {
    const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
    const end = directory + 2 + u16(directory) * ENTRY_BYTES;
    for (let at = directory + 2; at < end; at += ENTRY_BYTES) {
      const value = u16(at) === ORIENTATION ? u16(at + 8) : 0;
      if (value >= 1 && value <= 8) return value;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // an offset is past the end
  }
  return 1;
}

const PREFIX = Buffer.from('Exif\0\0');

/** What follows the prefix that JPEG requires and some WebP writers add; null without it. */
export function afterExifPrefix(data: Buffer): Buffer | null {
  return data.subarray(0, PREFIX.length).equals(PREFIX) ? data.subarray(PREFIX.length) : null;
}
