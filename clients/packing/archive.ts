import { gzipSync, type Zippable, zipSync } from 'fflate';

// Reproducible archives: the bytes depend only on the files. Node's deflate differs between CPUs
// and versions; fflate's does not.

/** An archive's files by path. */
export type Files = Record<string, Uint8Array>;

const BLOCK_BYTES = 512;
/** The modification time npm gives all files: 0 confuses some programs. */
const WRITTEN_AT = new Date('1985-10-26T08:15:00Z');

export function tarGz(files: Files): Uint8Array {
  const entries = Object.entries(files).map(([name, bytes]) => {
    const body = Buffer.alloc(Math.ceil(bytes.length / BLOCK_BYTES) * BLOCK_BYTES);
    body.set(bytes);
    return Buffer.concat([tarHeader(name, bytes.length), body]);
  });
  const end = Buffer.alloc(2 * BLOCK_BYTES);
  return gzipSync(Buffer.concat([...entries, end]), { level: 9, mem: 8, mtime: 0 });
}

function tarHeader(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long for a tar archive`);
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  header.write(name, 0);
  header.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  header.write(`${octal(size, 11)}\0${octal(WRITTEN_AT.getTime() / 1000, 11)}\0`, 124);
  header.write('        0', 148); // the checksum counts as spaces; a regular file
  header.write('ustar\x0000', 257);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}

const UNIX = 3;

export function zip(files: Files): Uint8Array {
  // ZIP stores local times.
  const mtime = new Date(1985, 9, 26, 8, 15);
  const options = { level: 9, mem: 8, mtime, os: UNIX, attrs: 0o100644 << 16 } as const;
  const entries = Object.entries(files).map(([name, bytes]) => [name, [bytes, options]]);
  return zipSync(Object.fromEntries(entries) as Zippable);
}
