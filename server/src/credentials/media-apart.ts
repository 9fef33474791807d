import { hash } from 'node:crypto';
import type { ByteSource } from '../media/byte-source.ts';
import { boxAt } from '../media/video/mov.ts';
import { type Box, boxesOf, bytesOf, hashOf } from './bmff.ts';

// The library holds several copies of a file in memory. So it signs an mp4 without its media; this
// file puts them back and recomputes the hash that binds the manifest to its file (decisions/0068).

const isMedia = ({ type }: Box) => type === 'mdat';
const NO_MEDIA = Buffer.from('\0\0\0\x08mdat', 'latin1');

function inMemory(bytes: Buffer): ByteSource {
  return { sizeBytes: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
}

export function withoutMedia(boxes: Box[]): ByteSource {
  return inMemory(
    Buffer.concat(boxes.flatMap((box) => (isMedia(box) ? NO_MEDIA : [...bytesOf(box)]))),
  );
}

/** What the library made of a file without its media. */
interface Made {
  bytes: Buffer;
  /** The claim in it. */
  claim: Buffer;
  /** What is there in place of its signature. */
  placeholder: Buffer;
}

/**
 * Puts the media back.
 * @param source the boxes of the file with its media
 * @returns the file's boxes, and its claim, whose signature `insertSignature` puts into the file
 */
export function withMedia({ bytes, claim: old, placeholder }: Made, source: Box[]) {
  const made = [...boxesOf(inMemory(bytes))];
  const signatureAt = placeOf(placeholder, bytes);
  const insertSignature = (signature: Buffer) => void signature.copy(bytes, signatureAt);
  const media = source.filter(isMedia);
  if (media.length === 0) return { boxes: made, claim: old, insertSignature };
  const boxes = made.map((box) => (isMedia(box) ? (media.shift() ?? box) : box));
  const hashAt = placeOf(hashOf(made), bytes);
  const assertion = superboxAround(hashAt, bytes);
  const claim = Buffer.from(old);
  const assertionHashAt = placeOf(hash('sha256', assertion, 'buffer'), claim);
  const claimAt = placeOf(old, bytes);
  hashOf(boxes).copy(bytes, hashAt);
  hash('sha256', assertion, 'buffer').copy(claim, assertionHashAt);
  claim.copy(bytes, claimAt);
  return { boxes, claim, insertSignature };
}

/** @throws Error unless it is there once */
function placeOf(part: Buffer, bytes: Buffer): number {
  const at = bytes.indexOf(part);
  if (at >= 0 && bytes.lastIndexOf(part) === at) return at;
  throw new Error('the library wrote an unexpected manifest');
}

/**
 * The content of the innermost JUMBF superbox (ISO/IEC 19566-5) around a place, as a view on
 * `bytes`.
 */
function superboxAround(place: number, bytes: Buffer): Buffer {
  const file = inMemory(bytes);
  const manifest = boxesOf(file).find((box) => box.at + box.sizeBytes > place);
  let at = (manifest?.at ?? 0) + MANIFEST_HEADER_BYTES;
  let content = bytes.subarray(0, 0);
  while (at < place) {
    const { type, headerBytes, sizeBytes } = boxAt(file, at);
    const isAround = at + sizeBytes > place;
    if (isAround && type !== 'jumb') break;
    if (isAround) content = bytes.subarray(at + headerBytes, at + sizeBytes);
    at += isAround ? headerBytes : sizeBytes;
  }
  return content;
}

/** Box header, UUID, version and flags, the purpose `manifest`, and an offset that is unused. */
const MANIFEST_HEADER_BYTES = 8 + 16 + 4 + 9 + 8;
