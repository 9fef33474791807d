import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { FilterContext } from 'node-av';
import type { FilterGraph } from './filter-graph.ts';
import { FONTS, subtitles } from './lettering.ts';
import { contain, cover, FRAMES_PER_SECOND, type FrameSize, VIDEO_COLOURS } from './picture.ts';

export interface RenderSpec {
  prompt: string;
  seed: number;
  /** Even. */
  width: number;
  /** Even. */
  height: number;
  /** A multiple of 1/24 s: the video has 24 frames a second. */
  durationSeconds: number;
  generateAudio: boolean;
  mode: 'text-to-video' | 'image-to-video' | 'media-to-video';
  firstFramePath?: string | undefined;
  lastFramePath?: string | undefined;
  referenceImagePaths: readonly string[];
  referenceVideoPaths: readonly string[];
}

const OUTPUT_TAGS = {
  colorspace: 'bt709',
  color_primaries: 'bt709',
  color_trc: 'bt709',
  range: 'tv',
};

/**
 * Adds the pictures of a spec to a graph: a pattern, the client's own pictures, the prompt and a
 * caption. Keeps only a few frames in memory.
 * @param scriptPath where to write the subtitles, which the graph reads
 * @throws when an image or clip can't be decoded
 */
export async function addScene(
  graph: FilterGraph,
  spec: RenderSpec,
  scriptPath: string,
): Promise<FilterContext> {
  await writeFile(scriptPath, subtitles(spec, spec.prompt, promptPlacement(spec)));
  const picture = await addPicture(graph, spec);
  const lettered = graph.add('ass', { filename: scriptPath, fontsdir: FONTS }, picture);
  const frames = spec.durationSeconds * FRAMES_PER_SECOND;
  const trimmed = graph.add('trim', { end_frame: frames }, lettered);
  const tagged = graph.add('setparams', OUTPUT_TAGS, graph.add('setsar', { sar: '1' }, trimmed));
  return graph.add('format', { pix_fmts: 'yuv420p' }, tagged);
}

/** The first and the last image are shown without the prompt for half a second. */
function promptPlacement({ mode, firstFramePath, lastFramePath, durationSeconds }: RenderSpec) {
  const place =
    mode === 'text-to-video'
      ? ({ alignment: 5, height: 0.7, largest: 0.1 } as const)
      : ({ alignment: 2, height: 0.12, largest: 0.05 } as const);
  return {
    ...place,
    fromSeconds: firstFramePath ? 0.5 : 0,
    toSeconds: lastFramePath ? durationSeconds - 0.5 : durationSeconds,
  };
}

async function addPicture(graph: FilterGraph, spec: RenderSpec): Promise<FilterContext> {
  switch (spec.mode) {
    case 'text-to-video':
      return addPattern(graph, spec);
    case 'image-to-video':
      return addFrames(graph, spec);
    case 'media-to-video':
      return addReferences(graph, spec);
  }
}

const PATTERN_LONG_SIDE = 96;

/**
 * A turning blend of three colours, drawn small and scaled up. It has 16 bits, because 8 would show
 * steps. Its sides are multiples of 8 and so even: FFmpeg's scaler reads colour from pairs of
 * pixels, and would read past an odd edge.
 */
function addPattern(graph: FilterGraph, { prompt, seed, width, height }: RenderSpec) {
  const digest = createHash('sha256')
    .update(JSON.stringify([prompt, seed]))
    .digest();
  const colour = (at: number) =>
    `0x${Buffer.from(digest.subarray(at, at + 3).map((value) => value / 2)).toString('hex')}`;
  const scale = PATTERN_LONG_SIDE / Math.max(width, height);
  const rounded = (length: number) => 8 * Math.round((length * scale) / 8);
  const small = graph.add('gradients', {
    size: `${rounded(width)}x${rounded(height)}`,
    rate: FRAMES_PER_SECOND,
    seed: digest.readUInt16LE(9),
    nb_colors: 3,
    c0: colour(0),
    c1: colour(3),
    c2: colour(6),
  });
  const deep = graph.add('format', { pix_fmts: 'rgba64le' }, small);
  const large = graph.add('scale', { w: width, h: height, ...VIDEO_COLOURS }, deep);
  return graph.add('format', { pix_fmts: 'yuv420p' }, large);
}

/** Starts with exactly the first image and ends with the last image, or with the pattern. */
async function addFrames(graph: FilterGraph, spec: RenderSpec): Promise<FilterContext> {
  const { firstFramePath, lastFramePath, durationSeconds } = spec;
  const last = lastFramePath ? await cover(graph, lastFramePath, spec) : addPattern(graph, spec);
  if (!firstFramePath) return last;
  const first = await cover(graph, firstFramePath, spec);
  const half = durationSeconds / 2;
  const fade = { type: 'out', alpha: 1, start_time: half / 2, duration: half };
  const fading = graph.add('fade', fade, graph.add('format', { pix_fmts: 'yuva420p' }, first));
  return graph.add('overlay', { enable: `lt(t,${half * 1.5})` }, last, fading);
}

/** Shows the playing clips and the images as tiles over the pattern. */
async function addReferences(graph: FilterGraph, spec: RenderSpec): Promise<FilterContext> {
  const references = [
    ...spec.referenceVideoPaths.map((path) => ({ path, kind: 'clip' }) as const),
    ...spec.referenceImagePaths.map((path) => ({ path, kind: 'image' }) as const),
  ];
  let last = addPattern(graph, spec);
  for (const [index, { path, kind }] of references.entries()) {
    const { x, y, ...box } = tileBox(index, references.length, spec);
    last = graph.add('overlay', { x, y }, last, await contain(graph, path, box, kind));
  }
  return last;
}

/** One of the boxes of a grid above the prompt, all of the same size. */
function tileBox(index: number, count: number, frame: FrameSize) {
  const columns = Math.ceil(Math.sqrt(count));
  const cell = {
    width: (frame.width * 0.9) / columns,
    height: (frame.height * 0.76) / Math.ceil(count / columns),
  };
  // Colour has half the resolution, so odd positions give uneven edges.
  const even = (length: number) => 2 * Math.floor(length / 2);
  return {
    x: even(frame.width * 0.05 + (index % columns) * cell.width),
    y: even(frame.height * 0.04 + Math.floor(index / columns) * cell.height),
    width: even(cell.width * 0.98),
    height: even(cell.height * 0.98),
  };
}
