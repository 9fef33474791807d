import type { Frame } from 'node-av/lib';
import { uprightFrame } from '../decoder.ts';
import { HASH_SECONDS, type HashUse, MAX_HASHES } from './timeline.ts';

const SIDE = 32; // pixels
const LOW = 16; // frequencies
/**
 * The least median strength of a frame's frequencies: plain frames and soft gradients look alike.
 * Photographs have 50 to 900.
 */
const MIN_STRENGTH = 64;

/** `COSINES[u][x]` of a discrete cosine transform. */
const COSINES = Array.from({ length: LOW }, (_, u) =>
  Array.from({ length: SIDE }, (_, x) => Math.cos(((2 * x + 1) * u * Math.PI) / (2 * SIDE))),
);

/** The lowest frequencies first: a cropped picture keeps those. */
const ORDER = COSINES.flatMap((_, u) => COSINES.map((_, v) => [u, v] as const)).sort(
  ([u, v], [otherU, otherV]) => Math.max(u, v) - Math.max(otherU, otherV),
);

/** Rows of pixels, in grey. */
type Picture = number[][];

function pictureOf(frame: Frame, side: number): Picture {
  using small = uprightFrame(frame, `scale=${side}:${side}:flags=area`, 'format=gray');
  const stride = small.linesize[0] ?? 0;
  const [plane = Buffer.alloc(0)] = small.data ?? [];
  return Array.from({ length: side }, (_, y) => [...plane.subarray(y * stride, y * stride + side)]);
}

/**
 * The perceptual hash (pHash) in hex: which of the 256 lowest frequencies are above their median.
 * Similar pictures differ in few bits. @returns undefined for a plain picture
 */
function hashOf(picture: Picture): string | undefined {
  const rows = picture.map(lowFrequencies);
  const columns = COSINES.map((_, u) => lowFrequencies(rows.map((row) => row[u] ?? 0)));
  const frequencies = ORDER.map(([u, v]) => columns[u]?.[v] ?? 0);
  if (medianOf(frequencies.map(Math.abs)) < MIN_STRENGTH) return undefined;
  const median = medianOf(frequencies);
  const bits = frequencies.map((frequency) => (frequency < median ? '0' : '1')).join('');
  return BigInt(`0b${bits}`)
    .toString(16)
    .padStart(bits.length / 4, '0');
}

function medianOf(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length / 2] ?? 0;
}

function lowFrequencies(pixels: number[]): number[] {
  return COSINES.map((cosines) =>
    cosines.reduce((sum, cosine, at) => sum + cosine * (pixels[at] ?? 0), 0),
  );
}

/** Bars end anywhere: a picture of {@link SIDE} pixels would blur their ends into the rest. */
const FINE_SIDE = 256;
const BAR_SHADES = 6;

/** What plain bars surround, as in copies for screens of another shape. */
function insideBars(picture: Picture): Picture[] {
  const inside = turned(withoutBars(turned(withoutBars(picture))));
  const sides = [inside.length, inside[0]?.length ?? 0];
  const hasBars = sides.some((side) => side < FINE_SIDE) && sides.every((side) => side >= SIDE);
  return hasBars ? [turned(shrunk(turned(shrunk(inside))))] : [];
}

function withoutBars(rows: Picture): Picture {
  const isPicture = (row: number[]) => Math.max(...row) - Math.min(...row) >= BAR_SHADES;
  return rows.slice(rows.findIndex(isPicture), rows.findLastIndex(isPicture) + 1);
}

function turned(rows: Picture): Picture {
  return (rows[0] ?? []).map((_, x) => rows.map((row) => row[x] ?? 0));
}

/** {@link SIDE} rows, each the mean of those at its place. */
function shrunk(rows: Picture): Picture {
  const placeOf = (row: number) => (row * rows.length) / SIDE;
  return Array.from({ length: SIDE }, (_, row) => {
    const some = rows.slice(Math.floor(placeOf(row)), Math.ceil(placeOf(row + 1)));
    return turned(some).map((pixels) => pixels.reduce((sum, pixel) => sum + pixel) / some.length);
  });
}

/**
 * Hashes the offered frames, at most one in {@link HASH_SECONDS}, and leaves out plain ones. Only a
 * video to compare may be a copy with bars.
 */
export function createFrameHashes(use: HashUse) {
  const hashes = new Set<string>();
  let last = -1;
  return {
    hashes,
    /** A frame that can't be hashed has no hash: that is no reason to refuse the video. */
    offer(frame: Frame, atSeconds: number) {
      const slot = Math.floor(atSeconds / HASH_SECONDS[use] + 0.01); // fractions aren't exact
      if (slot <= last || hashes.size === MAX_HASHES) return;
      last = slot;
      try {
        const picture = pictureOf(frame, SIDE);
        const inside = use === 'compared' ? insideBars(pictureOf(frame, FINE_SIDE)) : [];
        for (const hash of [picture, ...inside].map(hashOf)) {
          if (hash !== undefined && hashes.size < MAX_HASHES) hashes.add(hash);
        }
      } catch {}
    },
  };
}
