import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** One chunk of a PNG, with its checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(12 + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), 8 + data.length);
  return chunk;
}

/** The PNG with a chunk put right after its header. */
export function withPngChunk(png: Buffer, chunk: Buffer): Buffer {
  return Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)]);
}

interface PngParts {
  width: number;
  height: number;
  depth: number;
  colourType: number;
  isInterlaced?: boolean;
  palette?: Buffer;
  /** What is compressed: each row begins with its filter type. */
  rows: Buffer;
}

/** A PNG of these parts, whether they fit together or not. */
export function pngOf(parts: PngParts): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(parts.width, 0);
  header.writeUInt32BE(parts.height, 4);
  header.set([parts.depth, parts.colourType, 0, 0, parts.isInterlaced ? 1 : 0], 8);
  return Buffer.concat([
    SIGNATURE,
    pngChunk('IHDR', header),
    ...(parts.palette ? [pngChunk('PLTE', parts.palette)] : []),
    pngChunk('IDAT', deflateSync(parts.rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A black PNG. */
export function blackPng(width: number, height: number): Buffer {
  const rows = Buffer.alloc(height * (width + 1));
  return pngOf({ width, height, depth: 8, colourType: 0, rows });
}

/** One EXIF entry: its tag, type, count and value, in hexadecimal. */
export const EXIF_ORIENTATION_6 = '0112000300000001' + '00060000';
/** An entry whose type does not exist and whose value is past the end. */
export const EXIF_FAULTY = '010fffff7fffffff' + '7fffff00';

/** EXIF data with these entries, as big-endian TIFF. */
export function exifOf(...entries: string[]): Buffer {
  const count = entries.length.toString(16).padStart(4, '0');
  return Buffer.from(`4d4d002a00000008${count}${entries.join('')}00000000`, 'hex');
}

/** The JPEG with a segment put right after its first marker. */
export function withJpegSegment(jpeg: Buffer, marker: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 0xff]);
  return Buffer.concat([jpeg.subarray(0, 2), head, data, jpeg.subarray(2)]);
}

const EXIF_FLAG = 0x08;

/** A plain lossy WebP as an extended one, with these chunks after its picture. */
export function withWebpChunks(
  webp: Buffer,
  size: { width: number; height: number; flags?: number },
  ...chunks: [type: string, data: Buffer][]
): Buffer {
  const extended = Buffer.alloc(10);
  extended.writeUInt8(size.flags ?? EXIF_FLAG, 0);
  extended.writeUIntLE(size.width - 1, 4, 3);
  extended.writeUIntLE(size.height - 1, 7, 3);
  const picture = webp.subarray(12);
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    webpChunk('VP8X', extended),
    picture,
    ...chunks.map(([type, data]) => webpChunk(type, data)),
  ]);
  const head = Buffer.from('RIFF\0\0\0\0', 'latin1');
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
}

function webpChunk(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 0, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}
