import type { Readable } from 'node:stream';

/** Bytes `first` to `last` of an object, both included, counted from 0. */
export interface ByteRange {
  first: number;
  last: number;
}

/** Stores the bytes of objects under their ids. An id is never used again. */
export interface Storage {
  /**
   * The part of a put that can run beside a check of the file. If it fails, the file must not be
   * put: the system may report a failed write only once.
   */
  prepare?(filePath: string): Promise<void>;
  /**
   * Takes a local file into the storage, durably.
   * @param file.isPrepared whether {@link prepare} has ended, and the file is as it was then
   */
  put(objectId: string, filePath: string, file?: { isPrepared?: boolean }): Promise<void>;
  /** Opens an object, or a range of it, for reading. @throws ObjectMissing */
  open(objectId: string, range?: ByteRange): Promise<Readable>;
  sizeOf(objectId: string): Promise<number | undefined>;
  /** Deletes the object. Not an error when it does not exist. */
  delete(objectId: string): Promise<void>;
  /**
   * Makes a link that lets anyone read the object; only on a storage that has such links.
   * @param link.fileName what a browser saves it as: letters, digits, `_`, `-` and dots only
   * @returns `worksUntilExpiry`: false if temporary credentials may end it earlier
   */
  presign?(
    objectId: string,
    link: { seconds: number; mediaType: string; fileName: string },
  ): Promise<{ url: string; worksUntilExpiry: boolean }>;
  /** Makes a link that lets anyone put the object; only on a storage that has such links. */
  presignPut?(
    objectId: string,
    put: { seconds: number; mediaType: string; sizeBytes: number },
  ): Promise<{ url: string; headers: Record<string, string> }>;
}

export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}
