import type { ByteSource } from './byte-source.ts';

/** Boxes that tell a cut file when they overrun; what else overruns is trailing junk. */
const MEDIA_BOXES = ['moov', 'moof', 'mdat', 'mfra'];
/** A fragment per frame in a minute of 60 fps makes about 7,200. */
const BOX_LIMIT = 100_000;

/** An mp4 or QuickTime file is whole when no box with media in it runs past the file's end. */
export function movIsWhole(file: ByteSource): boolean {
  let at = 0;
  for (let count = 0; at + 8 <= file.sizeBytes; count++) {
    const box = boxAt(file, at);
    if (count > BOX_LIMIT) return false;
    if (box.sizeBytes < 8) return true; // no box: trailing bytes, which the demuxer ignores too
    if (at + box.sizeBytes > file.sizeBytes) return !MEDIA_BOXES.includes(box.type);
    at += box.sizeBytes;
  }
  return true;
}

/** mp4, unless the major brand (or its absence) says QuickTime. */
export function movMediaType(file: ByteSource): 'video/mp4' | 'video/quicktime' {
  const head = file.read(0, 12).toString('latin1', 4);
  return head.startsWith('ftyp') && head !== 'ftypqt  ' ? 'video/mp4' : 'video/quicktime';
}

/** Size 1 means a 64-bit size follows the type, size 0 means up to the end (14496-12, 4.2). */
function boxAt(file: ByteSource, at: number): { type: string; sizeBytes: number } {
  const head = file.read(at, 16);
  const type = head.toString('latin1', 4, 8);
  const size = head.readUInt32BE(0);
  if (size === 0) return { type, sizeBytes: file.sizeBytes - at };
  if (size > 1) return { type, sizeBytes: size };
  return { type, sizeBytes: head.length < 16 ? Infinity : Number(head.readBigUInt64BE(8)) };
}
