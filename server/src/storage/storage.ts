import type { Readable } from 'node:stream';

/** Bytes `first` to `last` of an object, both included, counted from 0. */
export interface ByteRange {
  first: number;
  last: number;
}

/** Stores the bytes of objects under their ids. An id is never used again. */
export interface Storage {
  /** Moves a local file into the storage. The object is durable when this returns. */
  put(objectId: string, filePath: string): Promise<void>;
  /**
   * Opens an object, or a range of it, for reading.
   * @throws ObjectMissing
   */
  open(objectId: string, range?: ByteRange): Promise<Readable>;
  /** Deletes the object. Not an error when it does not exist. */
  delete(objectId: string): Promise<void>;
}

/** The storage has no object with that id. */
export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}
