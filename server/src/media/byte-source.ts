import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';

export interface ByteSource {
  sizeBytes: number;
  /** Up to `lengthBytes` bytes from `position`; fewer only at the end of the file. */
  read(position: number, lengthBytes: number): Buffer;
}

/** Opens a file. A failing disk says nothing about the media, so it ends this process. */
export function openByteSource(path: string): ByteSource & Disposable {
  const fileDescriptor = openSync(path, 'r');
  return {
    sizeBytes: fstatSync(fileDescriptor).size,
    read: (position, lengthBytes) => {
      const bytes = Buffer.allocUnsafe(lengthBytes);
      return bytes.subarray(0, fill(fileDescriptor, bytes, position));
    },
    [Symbol.dispose]: () => closeSync(fileDescriptor),
  };
}

function fill(fileDescriptor: number, bytes: Buffer, position: number): number {
  let filled = 0;
  try {
    while (filled < bytes.length) {
      const got = readSync(fileDescriptor, bytes.subarray(filled), { position: position + filled });
      if (got === 0) break;
      filled += got;
    }
  } catch (error) {
    writeSync(2, `cannot read the file: ${error}\n`);
    process.exit(1);
  }
  return filled;
}
