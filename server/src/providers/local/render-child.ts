import { AV_LOG_ERROR, Log } from 'node-av';
import { serveParent } from '../../kernel/child.ts';
import { lookOf } from './look.ts';
import { writeMp4 } from './mp4.ts';
import type { RenderJob, RenderSpec } from './render-spec.ts';
import { FRAMES_PER_SECOND, openScene } from './scene.ts';
import { TONE_HERTZ, toneSamples } from './tone.ts';

Log.setLevel(AV_LOG_ERROR);

await serveParent(async (input) => {
  const { spec, outputPath } = input as RenderJob; // our own parent sent it
  try {
    await render(spec, outputPath);
    return { kind: 'rendered' };
  } catch (error) {
    return { kind: 'failed', cause: error instanceof Error ? error.message : String(error) };
  }
});

async function render(spec: RenderSpec, outputPath: string): Promise<void> {
  const scene = await openScene(spec);
  try {
    await writeMp4(outputPath, scene.frames(), FRAMES_PER_SECOND, soundOf(spec));
  } finally {
    await scene.close();
  }
}

function soundOf(spec: RenderSpec) {
  if (!spec.generateAudio) return null;
  const look = lookOf(spec.prompt, spec.seed);
  const samples = (firstSample: number, count: number) =>
    toneSamples(look, spec.durationSeconds, firstSample, count);
  return { samplesPerSecond: TONE_HERTZ, samples };
}
