import { createHash } from 'node:crypto';

/**
 * One soft light of the backdrop. It drifts round its centre. Lengths are fractions of the frame.
 */
export type Light = ReturnType<typeof light>;

/** Everything that makes one video differ from another. */
export type Look = ReturnType<typeof lookOf>;

const LIGHTS = 5;
const ROOT_HERTZ = 110;
/** Semitones above the root; all of them sound calm. */
const CHORDS = [
  [0, 7, 12, 16],
  [0, 7, 12, 15],
  [0, 5, 12, 17],
  [0, 7, 14, 16],
  [0, 9, 12, 16],
] as const;

/** The look of a prompt and seed: the same for the same prompt and seed, otherwise different. */
export function lookOf(prompt: string, seed: number) {
  const next = seededRandom(JSON.stringify([prompt, seed]));
  const hue = next() * 360;
  const spread = 40 + next() * 50;
  return {
    ground: fromHsl(hue, 0.5, 0.12),
    lights: Array.from({ length: LIGHTS }, (_, index) => light(hue, spread, index, next)),
    /** Frequencies of the tone, lowest first. */
    chordHertz: chord(next),
    /** How often the tone swells. */
    swellHertz: 0.2 + next() * 0.3,
  };
}

function light(hue: number, spread: number, index: number, next: () => number) {
  // One light has a distant hue, so that the frame does not look like a single colour.
  const tint =
    index === LIGHTS - 1
      ? hue + 110 + next() * 40
      : hue + (index / (LIGHTS - 2) - 0.5) * 2 * spread;
  return {
    /** Red, green, blue, 0 to 1. */
    colour: fromHsl(tint, 0.55 + next() * 0.2, 0.3 + next() * 0.18),
    centre: { x: (index + 0.2 + next() * 0.6) / LIGHTS, y: 0.1 + next() * 0.8 },
    drift: { x: 0.12 + next() * 0.2, y: 0.12 + next() * 0.2 },
    turnsPerSecond: (0.05 + next() * 0.08) * (next() < 0.5 ? -1 : 1),
    phase: next(),
    radius: 0.26 + next() * 0.2,
  };
}

function chord(next: () => number): number[] {
  const root = ROOT_HERTZ * 2 ** (Math.floor(next() * 12) / 12);
  const steps = CHORDS[Math.floor(next() * CHORDS.length)] ?? CHORDS[0];
  return steps.map((semitones) => root * 2 ** (semitones / 12));
}

/** Random numbers from 0 to below 1, always the same for the same text. */
function seededRandom(text: string): () => number {
  const key = createHash('sha256').update(text, 'utf8').digest();
  let count = 0;
  return () => {
    const block = createHash('sha256').update(key).update(String(count++)).digest();
    return block.readUInt32LE(0) / 2 ** 32;
  };
}

function fromHsl(hueDegrees: number, saturation: number, lightness: number) {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const position = (((offset + hueDegrees / 30) % 12) + 12) % 12;
    return lightness - reach * Math.max(-1, Math.min(position - 3, 9 - position, 1));
  };
  return [channel(0), channel(8), channel(4)] as const;
}
