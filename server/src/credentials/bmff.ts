import type { ByteSource } from '../media/byte-source.ts';
import { boxAt } from '../media/video/mov.ts';

const C2PA_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');

/** Whether an mp4 has a box of C2PA (its specification, "Embedding manifests into BMFF"). */
export function hasManifest(file: ByteSource): boolean {
  for (let at = 0; at + 8 <= file.sizeBytes; ) {
    const { type, headerBytes, sizeBytes } = boxAt(file, at);
    if (type === 'uuid' && file.read(at + headerBytes, 16).equals(C2PA_UUID)) return true;
    if (sizeBytes < 8) return false;
    at += sizeBytes;
  }
  return false;
}
