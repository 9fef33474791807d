/** What the structure of an image says, before it is decoded. */
interface ImageLayout {
  width: number;
  height: number;
  /** Where the image ends. Bytes after it (other pictures, junk) do not belong to it. */
  endBytes: number;
}

type ImageType = 'image/jpeg' | 'image/png' | 'image/webp';

/** The layout of an image; null when it is truncated, malformed or animated. */
export function imageLayout(mediaType: ImageType, bytes: Buffer): ImageLayout | null {
  try {
    if (mediaType === 'image/jpeg') return jpegLayout(bytes);
    return mediaType === 'image/png' ? pngLayout(bytes) : webpLayout(bytes);
  } catch (error) {
    if (error instanceof RangeError) return null; // a field is past the end
    throw error;
  }
}

/** Walks the chunks up to IEND (PNG, third edition, section 5). */
function pngLayout(bytes: Buffer): ImageLayout | null {
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IEND' && end <= bytes.length) {
      return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), endBytes: end };
    }
    at = end;
  }
  return null;
}

/** Walks the segments and scans up to the end marker (ITU T.81, annex B). */
function jpegLayout(bytes: Buffer): ImageLayout | null {
  let size: { width: number; height: number } | null = null;
  for (let at = 2; at < bytes.length; ) {
    if (bytes.readUInt8(at) !== 0xff) at = bytes.indexOf(0xff, at);
    if (at < 0) return null;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xd9) return size && { ...size, endBytes: at + 2 };
    if (isStartOfFrame(marker)) {
      size ??= { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    }
    at += hasLength(marker) ? 2 + bytes.readUInt16BE(at + 2) : marker === 0xff ? 1 : 2;
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

/** Reads the first chunk's size fields (WebP container, RFC 9649); null for an animation. */
function webpLayout(bytes: Buffer): ImageLayout | null {
  const endBytes = bytes.readUInt32LE(4) + 8;
  if (endBytes > bytes.length) return null;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X': {
      const isAnimated = (bytes.readUInt8(20) & 0x02) !== 0;
      const [width, height] = [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
      return isAnimated ? null : { width, height, endBytes };
    }
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21);
      const [width, height] = [(packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1];
      return { width, height, endBytes };
    }
    case 'VP8 ': {
      const [width, height] = [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
      return { width, height, endBytes };
    }
    default:
      return null;
  }
}
