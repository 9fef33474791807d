import type { ByteSource } from '../byte-source.ts';

/** A file is truncated if one of these boxes runs past its end; any other such box is junk. */
const MEDIA_BOXES = ['moov', 'moof', 'mdat', 'mfra'];
/** One fragment per frame in a minute of 60 fps gives about 7,200 boxes. */
const BOX_LIMIT = 100_000;

/** Whether an mp4 or QuickTime file is complete: no box with media runs past the file's end. */
export function movIsWhole(file: ByteSource): boolean {
  let at = 0;
  for (let count = 0; at + 8 <= file.sizeBytes; count++) {
    const box = boxAt(file, at);
    if (count > BOX_LIMIT) return false;
    if (box.sizeBytes < 8) return true; // not a box: trailing bytes, which the demuxer ignores too
    if (at + box.sizeBytes > file.sizeBytes) return !MEDIA_BOXES.includes(box.type);
    at += box.sizeBytes;
  }
  return true;
}

/** QuickTime if the major brand is `qt` or missing, otherwise mp4. */
export function movMediaType(file: ByteSource): 'video/mp4' | 'video/quicktime' {
  const head = file.read(0, 12).toString('latin1', 4);
  return head.startsWith('ftyp') && head !== 'ftypqt  ' ? 'video/mp4' : 'video/quicktime';
}

/** Size 1: a 64-bit size follows the type. Size 0: up to the file's end (ISO/IEC 14496-12, 4.2). */
export function boxAt(file: ByteSource, at: number) {
  const head = file.read(at, 16);
  const type = head.toString('latin1', 4, 8);
  const size = head.readUInt32BE(0);
  if (size === 0) return { type, headerBytes: 8, sizeBytes: file.sizeBytes - at };
  if (size > 1) return { type, headerBytes: 8, sizeBytes: size };
  const sizeBytes = head.length < 16 ? Infinity : Number(head.readBigUInt64BE(8));
  return { type, headerBytes: 16, sizeBytes };
}
