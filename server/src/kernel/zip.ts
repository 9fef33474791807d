import { Zip, ZipPassThrough } from 'fflate';

/** A file of an archive, by its path in it. */
export interface ZipEntry {
  name: string;
  at: Date;
  /** Called when its turn comes. */
  open(): Promise<AsyncIterable<Buffer>>;
}

/** A larger archive would need ZIP64. */
export const MAX_ZIP_BYTES = 2 ** 32 - 1;

export class ZipTooLarge extends Error {
  override name = 'ZipTooLarge';
}

/** A file's local header, data descriptor and central directory entry. */
const FILE_OVERHEAD_BYTES = 30 + 16 + 46;
const END_OF_CENTRAL_DIRECTORY_BYTES = 22;

/** The exact length of {@link zip}, from the names and sizes of its files. */
export function zipLength(files: { name: string; sizeBytes: number }[]): number {
  const lengths = files.map(({ name, sizeBytes }) => {
    return FILE_OVERHEAD_BYTES + 2 * Buffer.byteLength(name) + sizeBytes;
  });
  return lengths.reduce((sum, one) => sum + one, END_OF_CENTRAL_DIRECTORY_BYTES);
}

/**
 * Streams a ZIP archive that stores its files as they are: videos do not get smaller. It opens one
 * file after the other, and keeps none in memory.
 * @throws ZipTooLarge once its files have more than {@link MAX_ZIP_BYTES}
 */
export async function* zip(entries: ZipEntry[]): AsyncGenerator<Uint8Array> {
  const ready: Uint8Array[] = [];
  const archive = new Zip((error, bytes) => {
    if (error) throw error;
    ready.push(bytes);
  });
  let totalBytes = 0;
  for (const { name, at, open } of entries) {
    const file = new ZipPassThrough(name);
    file.mtime = at;
    archive.add(file);
    for await (const chunk of await open()) {
      totalBytes += chunk.length;
      if (totalBytes > MAX_ZIP_BYTES) throw new ZipTooLarge('the files have more than 4 GB');
      file.push(chunk);
      yield* ready.splice(0);
    }
    file.push(new Uint8Array(), true);
  }
  archive.end();
  yield* ready;
}
