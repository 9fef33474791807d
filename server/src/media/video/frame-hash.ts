import type { Frame } from 'node-av/lib';
import { uprightFrame } from '../decoder.ts';
import { MAX_HASHES } from './timeline.ts';

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

/**
 * The perceptual hash (pHash) of a frame in hex: which of its 256 lowest frequencies are above their
 * median. Similar pictures differ in few bits. @returns undefined for a plain frame
 */
function frameHash(frame: Frame): string | undefined {
  using small = uprightFrame(frame, `scale=${SIDE}:${SIDE}:flags=area`, 'format=gray');
  const stride = small.linesize[0] ?? 0;
  const [plane = Buffer.alloc(0)] = small.data ?? [];
  const rows = Array.from({ length: SIDE }, (_, y) =>
    lowFrequencies(plane.subarray(y * stride, y * stride + SIDE)),
  );
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

function lowFrequencies(pixels: ArrayLike<number>): number[] {
  return COSINES.map((cosines) =>
    cosines.reduce((sum, cosine, at) => sum + cosine * (pixels[at] ?? 0), 0),
  );
}

/** Hashes the offered frames, at most one in this many seconds, and leaves out plain ones. */
export function createFrameHashes(everySeconds: number) {
  const hashes = new Set<string>();
  let last = -1;
  return {
    hashes,
    /** A frame that can't be hashed has no hash: that is no reason to refuse the video. */
    offer(frame: Frame, atSeconds: number) {
      const slot = Math.floor(atSeconds / everySeconds + 0.01); // fractions aren't exact
      if (slot <= last || hashes.size === MAX_HASHES) return;
      last = slot;
      try {
        const hash = frameHash(frame);
        if (hash !== undefined) hashes.add(hash);
      } catch {}
    },
  };
}
