import type { Look } from './look.ts';

export const TONE_HERTZ = 48_000;

const LOUDNESS = 0.16;
const FADE_SECONDS = 0.4;

/**
 * A part of the tone: a chord that swells slowly and fades in and out at the ends of the video.
 * Two planes of 32-bit floats, left then right; the right one is 0.2 % higher.
 */
export function toneSamples(
  look: Look,
  durationSeconds: number,
  firstSample: number,
  count: number,
): Buffer {
  const planes = new Float32Array(count * 2);
  for (let index = 0; index < count; index++) {
    const at = (firstSample + index) / TONE_HERTZ;
    const level = LOUDNESS * swell(look, at) * fade(at, durationSeconds);
    planes[index] = level * chordAt(look, at);
    planes[count + index] = level * chordAt(look, at * 1.002);
  }
  return Buffer.from(planes.buffer);
}

function chordAt(look: Look, at: number): number {
  let sum = 0;
  for (const [voice, hertz] of look.chordHertz.entries()) {
    sum += Math.sin(2 * Math.PI * hertz * at) / (voice + 1);
  }
  return sum;
}

function swell(look: Look, at: number): number {
  return 0.75 + 0.25 * Math.sin(2 * Math.PI * look.swellHertz * at);
}

function fade(at: number, durationSeconds: number): number {
  return Math.min(1, at / FADE_SECONDS, (durationSeconds - at) / FADE_SECONDS);
}
