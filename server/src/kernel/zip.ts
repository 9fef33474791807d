import { crc32 } from 'node:zlib';

/** A file of an archive, by its path in it. */
export interface ZipEntry {
  name: string;
  at: Date;
  /** Called when its turn comes. */
  open(): Promise<AsyncIterable<Buffer>>;
}

/** A larger archive, or a file that begins later, would need ZIP64. */
export const MAX_ZIP_BYTES = 2 ** 32 - 1;

const LOCAL = 30;
const DESCRIPTOR = 16;
const CENTRAL = 46;
const END = 22;

/** The exact length of {@link zip}, from the names and sizes of its files. */
export function zipLength(files: { name: string; sizeBytes: number }[]): number {
  const lengths = files.map(({ name, sizeBytes }) => {
    return LOCAL + DESCRIPTOR + CENTRAL + 2 * Buffer.byteLength(name) + sizeBytes;
  });
  return lengths.reduce((sum, one) => sum + one, END);
}

/** The flags: sizes and checksum follow the data, and names are UTF-8. */
const FLAGS = 0x08_08;
/** 2.0, the first version with folders. */
const VERSION = 20;

/**
 * Streams a ZIP archive (PKWARE's APPNOTE 6.3.10) that stores its files as they are: videos do not
 * get smaller. It opens one file after the other, and keeps none.
 * @throws RangeError when it would exceed {@link MAX_ZIP_BYTES}
 */
export async function* zip(entries: ZipEntry[]): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, at, open } of entries) {
    const path = Buffer.from(name);
    const begin = Buffer.alloc(10);
    begin.writeUInt16LE(VERSION, 0);
    begin.writeUInt16LE(FLAGS, 2);
    begin.writeUInt32LE(dosTime(at), 6);
    const lengths = Buffer.alloc(4);
    lengths.writeUInt16LE(path.length, 0);
    yield Buffer.concat([uint32(0x04_03_4b_50), begin, Buffer.alloc(12), lengths, path]);
    let crc = 0;
    let size = 0;
    for await (const chunk of await open()) {
      crc = crc32(chunk, crc);
      size += chunk.length;
      yield chunk;
    }
    if (offset + size > MAX_ZIP_BYTES) throw new RangeError('the archive would need ZIP64');
    const sizes = Buffer.concat([uint32(crc), uint32(size), uint32(size)]);
    yield Buffer.concat([uint32(0x08_07_4b_50), sizes]);
    const end = Buffer.alloc(14);
    end.writeUInt32LE(offset, 10);
    const madeBy = begin.subarray(0, 2);
    const central = [uint32(0x02_01_4b_50), madeBy, begin, sizes, lengths, end];
    directory.push(...central, path);
    offset += LOCAL + path.length + size + DESCRIPTOR;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(END);
  end.writeUInt32LE(0x06_05_4b_50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  yield Buffer.concat([central, end]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** MS-DOS date and time in UTC, in steps of two seconds, from 1980 on. */
function dosTime(at: Date): number {
  const date =
    (Math.max(at.getUTCFullYear() - 1980, 0) << 9) |
    ((at.getUTCMonth() + 1) << 5) |
    at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return date * 2 ** 16 + time;
}
