import { createHash, type Hash } from 'node:crypto';
import type { ByteSource } from '../media/byte-source.ts';
import { boxAt } from '../media/video/mov.ts';

/** A top-level box of an mp4. Bytes after the last box count as one with an empty type. */
export interface Box {
  file: ByteSource;
  type: string;
  at: number;
  headerBytes: number;
  sizeBytes: number;
}

export function* boxesOf(file: ByteSource): Generator<Box> {
  for (let at = 0; at < file.sizeBytes; ) {
    const left = file.sizeBytes - at;
    const { type, headerBytes, sizeBytes } =
      left < 8 ? { type: '', headerBytes: 0, sizeBytes: left } : boxAt(file, at);
    const box = { file, type, at, headerBytes, sizeBytes: Math.min(sizeBytes, left) };
    if (box.sizeBytes < headerBytes) box.sizeBytes = left;
    yield box;
    at += box.sizeBytes;
  }
}

const C2PA_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');

/** Whether a box holds a manifest (C2PA's specification, "Embedding manifests into BMFF"). */
export function isManifest({ file, type, at, headerBytes }: Box): boolean {
  return type === 'uuid' && file.read(at + headerBytes, 16).equals(C2PA_UUID);
}

export function hasManifest(file: ByteSource): boolean {
  return boxesOf(file).some(isManifest);
}

const CHUNK_BYTES = 2 ** 20;

export function* bytesOf({ file, at, sizeBytes }: Box): Generator<Buffer> {
  for (let from = at; from < at + sizeBytes; from += CHUNK_BYTES) {
    yield file.read(from, Math.min(CHUNK_BYTES, at + sizeBytes - from));
  }
}

const NOT_HASHED = ['ftyp', 'mfra', 'free', 'skip'];

/** The hash by which a manifest is bound to its file: the second version of `c2pa.hash.bmff`. */
export function hashOf(boxes: Box[]): Buffer {
  const hash = createHash('sha256');
  let offset = 0;
  for (const box of boxes) {
    if (!NOT_HASHED.includes(box.type) && !isManifest(box)) addBox(hash, box, offset);
    offset += box.sizeBytes;
  }
  return hash.digest();
}

function addBox(hash: Hash, box: Box, offset: number): void {
  const position = Buffer.alloc(8);
  position.writeBigUInt64BE(BigInt(offset));
  if (box.type !== '') hash.update(position);
  for (const part of bytesOf(box)) hash.update(part);
}
