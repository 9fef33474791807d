import { AV_LOG_ERROR, Log } from 'node-av';
import { lookOf } from './look.ts';
import { type Sound, writeMp4 } from './mp4.ts';
import type { RenderSpec } from './render-spec.ts';
import { FRAMES_PER_SECOND, openScene } from './scene.ts';
import { TONE_HERTZ, toneSamples } from './tone.ts';

export type { RenderSpec } from './render-spec.ts';

/**
 * Writes the MP4 of a spec: H.264 at 24 frames a second, exactly as large and as long as asked,
 * with a stereo tone or without sound. The same spec gives the same bytes on the same machine. No
 * AI model is used, and every frame says so. Decodes the input files in this process, so run it in
 * a child process when they are not trusted. If it fails, a partial file may remain at
 * `outputPath`.
 * @throws when an input can't be decoded or the output can't be written
 */
export async function render(spec: RenderSpec, outputPath: string): Promise<void> {
  Log.setLevel(AV_LOG_ERROR);
  const scene = await openScene(spec);
  try {
    await writeMp4(outputPath, scene.frames(), FRAMES_PER_SECOND, soundOf(spec));
  } finally {
    await scene.close();
  }
}

function soundOf(spec: RenderSpec): Sound | null {
  if (!spec.generateAudio) return null;
  const look = lookOf(spec.prompt, spec.seed);
  const samples = (firstSample: number, count: number) =>
    toneSamples(look, spec.durationSeconds, firstSample, count);
  return { samplesPerSecond: TONE_HERTZ, samples };
}
