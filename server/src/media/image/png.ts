import { Readable } from 'node:stream';
import { crc32, createInflate, inflateSync } from 'node:zlib';
import { exifOrientation, type ImageLayout } from './layout.ts';

const SIGNATURE_BYTES = 8;
/** The chunks that hold pixels (PNG, third edition, 5.6). */
const PIXEL_CHUNKS = ['IHDR', 'PLTE', 'IDAT', 'IEND'];
const INDEXED = 3;
const SAMPLES: Record<number, number> = { 0: 1, 2: 3, [INDEXED]: 1, 4: 2, 6: 4 };
/** The passes of an interlaced picture: the first column and row, and the steps. */
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

interface Chunk {
  type: string;
  at: number;
  /** With the length, the type and the checksum. */
  bytes: Buffer;
  data: Buffer;
}

/** Walks the chunks up to IEND (PNG, third edition, section 5). @throws RangeError past the end */
export function pngLayout(bytes: Buffer): ImageLayout | null {
  const chunks = chunksOf(bytes);
  const header = chunks?.[0];
  if (!chunks || header?.type !== 'IHDR') return null;
  const exif = chunks.find((chunk) => chunk.type === 'eXIf' && isSound(chunk));
  const kept = chunks.filter(({ type }) => PIXEL_CHUNKS.includes(type));
  return {
    width: header.data.readUInt32BE(0),
    height: header.data.readUInt32BE(4),
    orientation: exif ? exifOrientation(exif.data) : 1,
    pixels: Buffer.concat([
      bytes.subarray(0, SIGNATURE_BYTES),
      ...kept.map((chunk) => chunk.bytes),
    ]),
    flaws: chunks
      .filter(isFlawed)
      .map(({ at, bytes: { length } }) => ({ from: at, to: at + length })),
  };
}

/** Text that may be compressed: Pillow refuses a PNG with too much of it, and nobody needs it. */
const TEXT_CHUNKS = ['zTXt', 'iTXt'];

/**
 * Whether a chunk beside the pixels may make FFmpeg, libpng or Pillow refuse the image: it is
 * critical, its checksum is wrong, it may be compressed text, or it is a profile that does not
 * inflate.
 */
function isFlawed(chunk: Chunk): boolean {
  const { type } = chunk;
  if (PIXEL_CHUNKS.includes(type)) return false;
  const isCritical = !/^[a-z]/.test(type); // PNG, third edition, 5.4
  if (isCritical || !isSound(chunk) || TEXT_CHUNKS.includes(type)) return true;
  return type === 'iCCP' && !unpacks(chunk);
}

/** Pillow refuses a PNG with a larger profile; profiles of screens have some kilobytes. */
const MAX_PROFILE_BYTES = 2 ** 20;

/** Whether a profile is its name, the method 0 and data that inflates (11.3.2.3). */
function unpacks({ data }: Chunk): boolean {
  const nameEnd = data.indexOf(0);
  if (nameEnd <= 0 || data[nameEnd + 1] !== 0) return false;
  try {
    inflateSync(data.subarray(nameEnd + 2), { maxOutputLength: MAX_PROFILE_BYTES });
    return true;
  } catch {
    return false;
  }
}

function chunksOf(bytes: Buffer): Chunk[] | null {
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE_BYTES; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (end > bytes.length) return null;
    const data = bytes.subarray(at + 8, end - 4);
    chunks.push({ type, at, bytes: bytes.subarray(at, end), data });
    if (type === 'IEND') return chunks;
    at = end;
  }
  return null;
}

function isSound({ bytes }: Chunk): boolean {
  return crc32(bytes.subarray(4, -4)) === bytes.readUInt32BE(bytes.length - 4);
}

/** Whether a PNG has the palette it needs, and data for each row. FFmpeg accepts PNGs without. */
export async function pngIsWhole({ pixels, width, height }: ImageLayout): Promise<boolean> {
  const chunks = chunksOf(pixels) ?? [];
  const header = chunks[0]?.data;
  if (header?.length !== 13) return false;
  const [depth, colourType, isInterlaced] = [header[8] ?? 0, header[9] ?? 0, header[12] === 1];
  if (colourType === INDEXED && !hasPalette(chunks)) return false;
  const bitsPerPixel = depth * (SAMPLES[colourType] ?? 0);
  const passes = isInterlaced ? ADAM7 : ([[0, 0, 1, 1]] as const);
  const rowBytes = passes.map(([x, y, stepX, stepY]) => {
    const [columns, rows] = [Math.ceil((width - x) / stepX), Math.ceil((height - y) / stepY)];
    return columns > 0 && rows > 0 ? rows * (1 + Math.ceil((columns * bitsPerPixel) / 8)) : 0;
  });
  const needed = rowBytes.reduce((sum, bytes) => sum + bytes, 0);
  const data = chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data);
  return inflatesTo(needed, data);
}

function hasPalette(chunks: Chunk[]): boolean {
  const palette = chunks.findIndex(({ type }) => type === 'PLTE');
  const sizeBytes = chunks[palette]?.data.length ?? 0;
  const firstData = chunks.findIndex(({ type }) => type === 'IDAT');
  return palette < firstData && sizeBytes > 0 && sizeBytes <= 768 && sizeBytes % 3 === 0;
}

/** Whether compressed data inflates to at least this many bytes; more does not matter. */
async function inflatesTo(neededBytes: number, parts: Buffer[]): Promise<boolean> {
  let count = 0;
  const inflate = Readable.from(parts).pipe(createInflate({ chunkSize: 2 ** 20 }));
  try {
    for await (const part of inflate) {
      count += part.length;
      if (count >= neededBytes) return true;
    }
  } catch (error) {
    const isDamaged = Object(error).code?.startsWith('Z_');
    if (!isDamaged) throw error;
  }
  return false;
}
