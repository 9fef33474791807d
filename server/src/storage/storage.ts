import type { Readable } from 'node:stream';

/** Bytes `first` to `last` of an object, both included, counted from 0. */
export interface ByteRange {
  first: number;
  last: number;
}

/** Where objects' bytes are kept. Names are object ids, never used again. */
export interface Storage {
  /** Takes the local file over as an object; it is durable when this returns. */
  put(objectId: string, filePath: string): Promise<void>;
  /** @throws ObjectMissing */
  open(objectId: string, range?: ByteRange): Promise<Readable>;
  /** Deletes the object; no error when it is not there. */
  delete(objectId: string): Promise<void>;
}

/** There is no object of that name. */
export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}
