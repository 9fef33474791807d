import { inflateSync } from 'node:zlib';
import type { ByteSource } from '../byte-source.ts';
import { RefusedMedia } from '../measurement.ts';

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

/** Reads a box. Size 1: a 64-bit size follows. Size 0: up to the file's end (14496-12, 4.2). */
export function boxAt(file: ByteSource, at: number) {
  const head = file.read(at, 16);
  const type = head.toString('latin1', 4, 8);
  const size = head.readUInt32BE(0);
  if (size === 0) return { type, headerBytes: 8, sizeBytes: file.sizeBytes - at };
  if (size > 1) return { type, headerBytes: 8, sizeBytes: size };
  const sizeBytes = head.length < 16 ? Infinity : Number(head.readBigUInt64BE(8));
  return { type, headerBytes: 16, sizeBytes };
}

/** The containers on the way to the data references (ISO/IEC 14496-12, 8.7). */
const CONTAINERS = ['moov', 'trak', 'mdia', 'minf', 'dinf'];
/** FFmpeg refuses a file whose boxes are nested deeper. */
const DEPTH_LIMIT = 10;
const INDEX_BYTES = 64 * 2 ** 20;
/** Flag of a data reference: the data is in this file. */
const IS_SELF_CONTAINED = 1;

interface Box {
  type: string;
  contentAt: number;
  end: number;
}

/**
 * Whether an mp4 or QuickTime file refers to data in another file or at a URL: this service never
 * follows it, but a provider might. @throws RefusedMedia when there are too many boxes
 */
export function movRefersOutside(file: ByteSource): boolean {
  const walk = { boxesLeft: BOX_LIMIT };
  return refersOutside(file, { contentAt: 0, end: file.sizeBytes }, walk, 0);
}

function refersOutside(
  file: ByteSource,
  within: Pick<Box, 'contentAt' | 'end'>,
  walk: { boxesLeft: number },
  depth: number,
): boolean {
  if (depth > DEPTH_LIMIT) return false;
  for (const box of boxesIn(file, within, walk)) {
    if (box.type === 'rmra') return true; // a list of other movies (QuickTime File Format)
    if (box.type === 'dref' && hasOutsideReference(file, box, walk)) return true;
    if (box.type === 'cmov') {
      const index = compressedIndex(file, box, walk);
      if (index && refersOutside(index, { contentAt: 0, end: index.sizeBytes }, walk, depth + 1))
        return true;
    }
    const isContainer = CONTAINERS.includes(box.type);
    if (isContainer && refersOutside(file, box, walk, depth + 1)) return true;
  }
  return false;
}

/** A reference without the flag and without content leads nowhere, so it does no harm. */
function hasOutsideReference(file: ByteSource, dref: Box, walk: { boxesLeft: number }): boolean {
  const entries = { contentAt: dref.contentAt + 8, end: dref.end }; // after version and count
  for (const { type, contentAt, end } of boxesIn(file, entries, walk)) {
    const flags = file.read(contentAt, 4).at(3) ?? 0;
    const isInside = (flags & IS_SELF_CONTAINED) !== 0 || type === 'imdt';
    const address = file.read(contentAt + 4, Math.min(64, Math.max(0, end - contentAt - 4)));
    if (!isInside && address.some((byte) => byte !== 0)) return true;
  }
  return false;
}

function* boxesIn(
  file: ByteSource,
  { contentAt, end }: Pick<Box, 'contentAt' | 'end'>,
  walk: { boxesLeft: number },
): Generator<Box> {
  for (let at = contentAt; at + 8 <= end; ) {
    walk.boxesLeft -= 1;
    if (walk.boxesLeft < 0) throw new RefusedMedia('undecodable');
    const { type, headerBytes, sizeBytes } = boxAt(file, at);
    if (sizeBytes < 8) return; // not a box
    yield { type, contentAt: at + headerBytes, end: Math.min(end, at + sizeBytes) };
    at += sizeBytes;
  }
}

/** The index in a `cmov` box (QuickTime File Format, "Compressed movie resources"). */
function compressedIndex(
  file: ByteSource,
  cmov: Box,
  walk: { boxesLeft: number },
): ByteSource | null {
  const data = [...boxesIn(file, cmov, walk)].find(({ type }) => type === 'cmvd');
  if (!data) return null;
  try {
    const compressed = file.read(data.contentAt + 4, data.end - data.contentAt - 4);
    const bytes = inflateSync(compressed, { maxOutputLength: INDEX_BYTES });
    return { sizeBytes: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
  } catch {
    throw new RefusedMedia('undecodable');
  }
}
