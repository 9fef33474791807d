import { rm } from 'node:fs/promises';
import { AV_LOG_ERROR, type FilterContext, Log } from 'node-av';
import { FilterGraph } from './filter-graph.ts';
import { SAMPLES_PER_SECOND, writeMp4 } from './mp4.ts';
import { FRAMES_PER_SECOND } from './picture.ts';
import { addScene, type RenderSpec } from './scene.ts';

export type { RenderSpec } from './scene.ts';

/**
 * Writes the MP4 of a spec: H.264 at 24 frames a second with a stereo tone or without sound; the
 * same bytes for the same spec on the same machine. Decodes the inputs in this process: run it in a
 * child process when they are not trusted. If it fails, partial files may remain.
 * @throws when an input can't be decoded or the output can't be written
 */
export async function render(spec: RenderSpec, outputPath: string): Promise<void> {
  Log.setLevel(AV_LOG_ERROR);
  using pictures = new FilterGraph();
  using sound = new FilterGraph();
  const scriptPath = `${outputPath}.ass`;
  const scene = await addScene(pictures, spec, scriptPath);
  await writeMp4(outputPath, {
    framesPerSecond: FRAMES_PER_SECOND,
    pictures: pictures.frames(scene),
    sound: spec.generateAudio ? sound.frames(addTone(sound, spec)) : null,
  });
  await rm(scriptPath);
}

/** A steady tone without end, whose pitch depends on the seed. */
function addTone(graph: FilterGraph, { seed }: RenderSpec): FilterContext {
  const tone = { frequency: 220 + (seed % 220), sample_rate: SAMPLES_PER_SECOND };
  const mono = graph.add('sine', tone);
  return graph.add('aformat', { sample_fmts: 'fltp', channel_layouts: 'stereo' }, mono);
}
