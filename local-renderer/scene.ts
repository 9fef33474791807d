import type { FilterContext, Frame } from 'node-av';
import { type Look, lookOf } from './look.ts';
import { FilterChain, type FrameInput } from './picture/filter-chain.ts';
import { scaleTo } from './picture/fitting.ts';
import {
  backdropSource,
  clipSource,
  type FrameSource,
  imageSource,
} from './picture/frame-source.ts';
import { type Box, tileBoxes } from './picture/tiles.ts';
import type { RenderSpec } from './render-spec.ts';
import { loadFont } from './text/font.ts';
import type { Lettering } from './text/lettering.ts';
import {
  captionHeight,
  drawCaption,
  drawPrompt,
  drawSmallPrompt,
  sideMargin,
} from './text/lettering.ts';

export const FRAMES_PER_SECOND = 24;

/** The frames of a video in order; the caller frees each. */
export interface Scene {
  frames: () => AsyncGenerator<Frame>;
  close: () => Promise<void>;
}

/** A scene that is being built. */
interface Stage extends Lettering {
  spec: RenderSpec;
  look: Look;
  inputs: { source: FrameSource; input: FrameInput }[];
}

/**
 * Builds the pictures of a spec. Keeps only a few frames in memory, for any length of video.
 * @throws when an image or clip can't be decoded
 */
export async function openScene(spec: RenderSpec): Promise<Scene> {
  const look = lookOf(spec.prompt, spec.seed);
  const chain = new FilterChain(FRAMES_PER_SECOND);
  const stage: Stage = { spec, look, chain, frame: spec, font: loadFont(), inputs: [] };
  const picture = drawProgress(stage, await drawPicture(stage));
  const captioned = drawCaption(stage, picture, factsOf(spec));
  // Without it, the pixels of a fitted image count as not quite square.
  const square = chain.add('setsar', { sar: '1' }, captioned);
  const tagged = chain.add('setparams', OUTPUT_TAGS, square);
  const take = await chain.start(chain.add('format', { pix_fmts: 'yuv420p' }, tagged));
  const close = async () => {
    for (const { source } of stage.inputs) await source.close();
    chain[Symbol.dispose]();
  };
  return { frames: () => framesOf(stage, take), close };
}

const OUTPUT_TAGS = {
  colorspace: 'bt709',
  color_primaries: 'bt709',
  color_trc: 'bt709',
  range: 'tv',
};

async function* framesOf(stage: Stage, take: Awaited<ReturnType<FilterChain['start']>>) {
  const frameCount = stage.spec.durationSeconds * FRAMES_PER_SECOND;
  let pushed = 0;
  for (let taken = 0; taken < frameCount; ) {
    const frame = await take();
    if (frame === 'ended') throw new Error(`the scene ended after ${taken} frames`);
    if (frame === 'needs_input') await pushFrames(stage, pushed++);
    else {
      taken++;
      yield frame;
    }
  }
}

async function pushFrames(stage: Stage, tick: number): Promise<void> {
  for (const { source, input } of stage.inputs) {
    using frame = await source.next();
    await input.push(frame, tick);
  }
}

function drawPicture(stage: Stage): Promise<FilterContext> {
  switch (stage.spec.mode) {
    case 'text-to-video':
      return Promise.resolve(drawPattern(stage));
    case 'image-to-video':
      return drawFrames(stage);
    case 'media-to-video':
      return drawReferences(stage);
  }
}

function drawPattern(stage: Stage): FilterContext {
  return drawPrompt(stage, drawBackdrop(stage), stage.spec.prompt, textArea(stage));
}

function drawBackdrop(stage: Stage): FilterContext {
  const { spec, look } = stage;
  const small = addInput(stage, backdropSource(look, spec, FRAMES_PER_SECOND));
  const large = stage.chain.add('scale', scaleTo(spec), small);
  return stage.chain.add('format', { pix_fmts: 'yuv420p' }, large);
}

/** Starts with exactly the first image and ends with the last image, or with the pattern. */
async function drawFrames(stage: Stage): Promise<FilterContext> {
  const { spec } = stage;
  if (spec.firstFramePath === undefined) return drawPattern(stage);
  const end = spec.lastFramePath;
  const below =
    end === undefined ? drawPattern(stage) : addInput(stage, await imageSource(end, spec, 'cover'));
  const first = addInput(stage, await imageSource(spec.firstFramePath, spec, 'cover'));
  const fade = { startsAt: spec.durationSeconds / 4, lasts: spec.durationSeconds / 2 };
  const faded = fadeFrom(stage, first, below, fade);
  return end === undefined ? faded : drawFadingPrompt(stage, faded);
}

function fadeFrom(
  { chain }: Stage,
  first: FilterContext,
  below: FilterContext,
  { startsAt, lasts }: { startsAt: number; lasts: number },
): FilterContext {
  const clear = chain.add('format', { pix_fmts: 'yuva420p' }, first);
  const fade = { type: 'out', alpha: 1, start_time: startsAt, duration: lasts };
  const fading = chain.add('fade', fade, clear);
  return chain.add('overlay', { enable: `lt(t,${startsAt + lasts})` }, below, fading);
}

/** Draws the prompt, except at the start and at the end, which show one image alone. */
function drawFadingPrompt(stage: Stage, below: FilterContext): FilterContext {
  const { prompt, durationSeconds } = stage.spec;
  const alpha = `clip(2*t-1,0,1)*clip(2*(${durationSeconds}-t)-1,0,1)`;
  return drawSmallPrompt(stage, below, prompt, lowerThird(stage), alpha);
}

/** Draws the images and playing clips as tiles over the backdrop, with the prompt below. */
async function drawReferences(stage: Stage): Promise<FilterContext> {
  const { referenceImagePaths: images, referenceVideoPaths: clips } = stage.spec;
  const backdrop = drawBackdrop(stage);
  const references = [
    ...clips.map((path) => (box: Box) => clipSource(path, box, 'contain', FRAMES_PER_SECOND)),
    ...images.map((path) => (box: Box) => imageSource(path, box, 'contain')),
  ];
  const prompted = drawSmallPrompt(stage, backdrop, stage.spec.prompt, lowerThird(stage));
  const boxes = tileBoxes(references.length, tileArea(stage), sideMargin(stage.frame) / 3);
  let last = prompted;
  for (const [index, box] of boxes.entries()) {
    const reference = references[index];
    if (reference) last = drawTile(stage, last, await reference(box), box);
  }
  return last;
}

function drawTile(stage: Stage, below: FilterContext, source: FrameSource, box: Box) {
  const { width, height } = source.shape;
  const x = even(box.x + (box.width - width) / 2);
  const y = even(box.y + (box.height - height) / 2);
  const border = 2 * Math.ceil(Math.min(stage.frame.width, stage.frame.height) / 1000);
  const mat = {
    x: x - border,
    y: y - border,
    w: width + 2 * border,
    h: height + 2 * border,
    t: 'fill',
  };
  const framed = stage.chain.add('drawbox', { ...mat, color: 'white@0.85' }, below);
  return stage.chain.add('overlay', { x, y }, framed, addInput(stage, source));
}

/** Rounds to even: colour has half the resolution, so odd positions give uneven edges. */
function even(length: number): number {
  return 2 * Math.round(length / 2);
}

/** Draws a thin line above the caption. During the video, the line grows to the full width. */
function drawProgress({ chain, frame, spec }: Stage, below: FilterContext): FilterContext {
  const height = 2 * Math.ceil(Math.min(frame.width, frame.height) / 400);
  const size = `${frame.width}x${height}`;
  const line = chain.add('color', { color: 'white', size, rate: FRAMES_PER_SECOND });
  const x = `-w+w*t/${spec.durationSeconds}`;
  const y = frame.height - captionHeight(frame) - height;
  return chain.add('overlay', { x, y, shortest: 1 }, below, line);
}

function addInput(stage: Stage, source: FrameSource): FilterContext {
  const input = stage.chain.input(source.shape);
  stage.inputs.push({ source, input });
  return input.output;
}

function factsOf(spec: RenderSpec): string {
  return `seed ${spec.seed} · ${spec.width} × ${spec.height} · ${spec.durationSeconds} s`;
}

function textArea({ frame }: Stage): Box {
  const margin = sideMargin(frame);
  const height = Math.round((frame.height - captionHeight(frame)) * 0.8);
  const y = Math.round((frame.height - captionHeight(frame) - height) / 2);
  return { x: margin, y, width: frame.width - 2 * margin, height };
}

function lowerThird(stage: Stage): Box {
  const area = textArea(stage);
  const height = Math.round(area.height / 5);
  return { ...area, height, y: area.y + area.height - height };
}

function tileArea(stage: Stage): Box {
  const area = textArea(stage);
  const margin = Math.round(area.y / 2);
  const height = lowerThird(stage).y - 2 * margin;
  return { ...area, y: margin, height };
}
