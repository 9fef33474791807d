import type { ByteSource } from '../byte-source.ts';

const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
const DOC_TYPE = 0x4282;
const ELEMENT_LIMIT = 200_000;

/** One EBML element (RFC 8794): `sizeBytes` of content after the header, null when unknown. */
interface Element {
  id: number;
  contentAt: number;
  sizeBytes: number | null;
}

/**
 * Whether a Matroska or WebM file is complete. A segment of unknown size (a live recording) has no
 * end mark, so every element in it that has a size must fit.
 */
export function matroskaIsWhole(file: ByteSource): boolean {
  let at = 0;
  for (let count = 0; at < file.sizeBytes; count++) {
    const element = elementAt(file, at);
    if (count > ELEMENT_LIMIT) return false;
    if (!element) return true; // not an element: trailing bytes, left to the demuxer
    const end = element.contentAt + (element.sizeBytes ?? 0);
    if (end > file.sizeBytes) return false;
    if (element.id === SEGMENT && element.sizeBytes !== null) return true;
    at = end;
  }
  return true;
}

/** The media type by the document type in the header: WebM for `webm`, otherwise Matroska. */
export function matroskaMediaType(file: ByteSource): 'video/webm' | 'video/x-matroska' {
  const header = elementAt(file, 0);
  const end = header ? header.contentAt + (header.sizeBytes ?? 0) : 0;
  let at = header?.contentAt ?? 0;
  while (at < Math.min(end, 4096)) {
    const element = elementAt(file, at);
    if (!element || element.sizeBytes === null) break;
    const isWebm = file.read(element.contentAt, 4).toString('latin1') === 'webm';
    if (element.id === DOC_TYPE) return isWebm ? 'video/webm' : 'video/x-matroska';
    at = element.contentAt + element.sizeBytes;
  }
  return 'video/x-matroska';
}

function elementAt(file: ByteSource, at: number): Element | null {
  const head = file.read(at, 12);
  const idBytes = vintBytes(head[0]);
  const sizeFieldBytes = vintBytes(head[idBytes]);
  if (idBytes > 4 || sizeFieldBytes > 8) return null;
  if (head.length < idBytes + sizeFieldBytes) return null;
  const id = head.readUIntBE(0, idBytes);
  const contentAt = at + idBytes + sizeFieldBytes;
  const sizeBytes = vintValue(head.subarray(idBytes, idBytes + sizeFieldBytes));
  // Only a segment or cluster may have an unknown size (RFC 9559, 5.1): its elements come next.
  if (sizeBytes === null && id !== SEGMENT && id !== CLUSTER) return null;
  return { id, contentAt, sizeBytes };
}

/** The length of a variable-size integer, from the leading zeros of its first byte. */
function vintBytes(first: number | undefined): number {
  return first === undefined ? 9 : Math.clz32(first) - 24 + 1;
}

/** The value without its marker bit; null when all its bits are ones (unknown). */
function vintValue(bytes: Buffer): number | null {
  const marker = 1n << BigInt(7 * bytes.length);
  const raw = BigInt(`0x${bytes.toString('hex')}`) - marker;
  return raw === marker - 1n ? null : Number(raw);
}
