import { RefusedMedia } from '../measurement.ts';
import { afterExifPrefix, exifOrientation, type ImageLayout } from './layout.ts';

const HEADER_BYTES = 12;
const ANIMATION_FLAG = 0x02;
const ALPHA_FLAG = 0x10;
/** The chunks that a decoder needs; `VP8X` is the first one of a file with metadata. */
const PICTURE_CHUNKS = ['VP8X', 'ALPH', 'VP8 ', 'VP8L'];

interface Chunk {
  type: string;
  /** With the header and the padding byte. */
  bytes: Buffer;
  data: Buffer;
}

/** Reads the chunks (RFC 9649). @throws RangeError past the end; RefusedMedia for an animation */
export function webpLayout(bytes: Buffer): ImageLayout | null {
  const end = bytes.readUInt32LE(4) + 8;
  if (end > bytes.length) return null;
  const chunks = chunksOf(bytes.subarray(0, end));
  const size = chunks[0] && sizeIn(chunks[0]);
  if (!size) return null;
  const exif = chunks.find(({ type }) => type === 'EXIF')?.data;
  const orientation = exif ? exifOrientation(afterExifPrefix(exif) ?? exif) : 1;
  // FFmpeg's demuxer refuses a WebP with trailing bytes.
  const flaws = end < bytes.length ? [{ from: end, to: bytes.length }] : [];
  return {
    ...size,
    orientation,
    pixels: withoutMetadata(bytes, chunks),
    ...lossyIn(chunks),
    flaws,
  };
}

/** Empty for a lossless WebP. */
function lossyIn(chunks: Chunk[]): Pick<ImageLayout, 'lossy'> {
  const picture = chunks.find(({ type }) => type === 'VP8 ' || type === 'VP8L');
  const size = picture?.type === 'VP8 ' && sizeIn(picture);
  if (!size) return {};
  const hasAlpha = chunks.some(({ type }) => type === 'ALPH');
  return { lossy: { ...size, frame: picture.data, hasAlpha } };
}

function chunksOf(bytes: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = HEADER_BYTES; at + 8 <= bytes.length; ) {
    const dataEnd = at + 8 + bytes.readUInt32LE(at + 4);
    const end = dataEnd + (dataEnd % 2);
    chunks.push({
      type: bytes.toString('latin1', at, at + 4),
      bytes: bytes.subarray(at, end),
      data: bytes.subarray(at + 8, dataEnd),
    });
    at = end;
  }
  return chunks;
}

function sizeIn({ type, data }: Chunk): { width: number; height: number } | null {
  switch (type) {
    case 'VP8X':
      if (data.readUInt8(0) & ANIMATION_FLAG) throw animated();
      return { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 };
    case 'VP8L': {
      const packed = data.readUInt32LE(1);
      return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
    default:
      return null;
  }
}

function animated(): RefusedMedia {
  return new RefusedMedia('not_an_image', {
    explanation: 'The file is an animated WebP. Send a still JPEG, PNG or WebP image.',
  });
}

function withoutMetadata(file: Buffer, chunks: Chunk[]): Buffer {
  const kept = chunks.filter(({ type }) => PICTURE_CHUNKS.includes(type));
  const copy = Buffer.concat([file.subarray(0, HEADER_BYTES), ...kept.map(({ bytes }) => bytes)]);
  copy.writeUInt32LE(copy.length - 8, 4);
  const isExtended = chunks[0]?.type === 'VP8X';
  if (isExtended) copy.writeUInt8(copy.readUInt8(HEADER_BYTES + 8) & ALPHA_FLAG, HEADER_BYTES + 8);
  return copy;
}
