import { type AVPixelFormat, avGetPixFmtName, type FilterContext, type Frame } from 'node-av';
import type { FrameSize } from '../frame-size.ts';
import { FilterChain, type FilterOptions } from './filter-chain.ts';
import { type Picture, pictures } from './media-file.ts';
import { type Step, swapsSides, uprightSteps } from './upright.ts';

/**
 * `cover` fills the box and crops the picture; `contain` keeps the whole picture inside the box.
 */
export type Fit = 'cover' | 'contain';

/** Colour space of every sized picture and of the output, so that no frame is converted twice. */
const VIDEO_COLOURS = { out_color_matrix: 'bt709', out_range: 'tv' } as const;

const SQUARE_PIXELS: Step = ['setsar', { sar: '1' }];
const ALPHA_FORMAT = /^(ya|yuva|gbrap|rgba|bgra|argb|abgr|pal8)/;

/**
 * The first picture of a file, upright and sized to the box, with white behind transparent parts.
 * The caller frees it.
 * @throws when the file can't be decoded
 */
export async function fittedImage(path: string, box: FrameSize, fit: Fit): Promise<Frame> {
  for await (const picture of pictures(path)) {
    using _source = picture.frame;
    return await fitted(picture, box, fit);
  }
  throw new Error('no picture could be decoded');
}

/**
 * The pictures of a clip, sized to the box and resampled to this many frames a second. Repeats the
 * clip without end. The caller frees each frame.
 * @throws when the file can't be decoded
 */
export async function* playingClip(
  path: string,
  box: FrameSize,
  fit: Fit,
  framesPerSecond: number,
): AsyncGenerator<Frame, void> {
  for (;;) {
    let shown = 0;
    for await (const frame of playedOnce(path, box, fit, framesPerSecond)) {
      shown++;
      yield frame;
    }
    if (shown === 0) throw new Error('no picture could be decoded');
  }
}

/** Sizes only the pictures that are shown. In a 60 fps clip, fewer than half are shown. */
async function* playedOnce(path: string, box: FrameSize, fit: Fit, framesPerSecond: number) {
  let pending: Picture | null = null;
  let startSeconds: number | null = null;
  let tick = 0;
  try {
    for await (const picture of pictures(path)) {
      startSeconds ??= picture.atSeconds;
      const dueTick = Math.ceil((picture.atSeconds - startSeconds) * framesPerSecond - 0.01);
      if (pending && tick < dueTick) {
        using frame = await fitted(pending, box, fit);
        for (; tick < dueTick; tick++) yield copyOf(frame);
      }
      pending?.frame.free();
      pending = picture;
    }
    if (pending) yield await fitted(pending, box, fit);
  } finally {
    pending?.frame.free();
  }
}

/** Another reference to the same pixels; the caller frees it. */
export function copyOf(frame: Frame): Frame {
  const copy = frame.clone();
  if (!copy) throw new Error('out of memory');
  return copy;
}

/** The largest even size with the same aspect ratio that fits in the box. */
function containedSize(shown: FrameSize, box: FrameSize): FrameSize {
  const scale = Math.min(box.width / shown.width, box.height / shown.height);
  const even = (length: number) => Math.max(2, Math.floor((length * scale) / 2) * 2);
  return { width: even(shown.width), height: even(shown.height) };
}

async function fitted(picture: Picture, box: FrameSize, fit: Fit): Promise<Frame> {
  const { frame } = picture;
  using chain = new FilterChain(1);
  const input = chain.input(frame);
  let last = input.output;
  const upright = uprightSteps(picture.displayMatrix);
  const shown = displaySize(frame, swapsSides(upright));
  const size = fit === 'cover' ? box : containedSize(shown, box);
  const steps = [...upright, SQUARE_PIXELS, cropTo(size, shown)];
  for (const [name, options] of steps) last = chain.add(name, options, last);
  if (hasAlpha(frame)) last = onWhite(chain, last, size);
  last = chain.add('scale', scaleTo(size), last);
  const next = await chain.start(chain.add('format', { pix_fmts: 'yuv420p' }, last));
  await input.push(frame, 0);
  const finished = await next();
  if (typeof finished === 'string') throw new Error('the filters returned no picture');
  return finished;
}

/** Crops before scaling: otherwise, a strip of 1 by 5000 pixels would become huge in between. */
function cropTo(size: FrameSize, shown: FrameSize): Step {
  const ratio = (size.width / size.height) * (shown.height / shown.width);
  const w = `max(1,iw*${Math.min(1, ratio)})`;
  const h = `max(1,ih*${Math.min(1, 1 / ratio)})`;
  return ['crop', { w, h, exact: 1 }];
}

/** Options of the scaler for a size, in the colour space of the output. */
export function scaleTo({ width, height }: FrameSize): FilterOptions {
  return { w: width, h: height, flags: 'bicubic', ...VIDEO_COLOURS };
}

function hasAlpha(frame: Frame): boolean {
  return ALPHA_FORMAT.test(avGetPixFmtName(frame.format as AVPixelFormat) ?? '');
}

function displaySize(frame: Frame, turned: boolean): FrameSize {
  const pixel = frame.sampleAspectRatio;
  const stretch = pixel.num > 0 && pixel.den > 0 ? pixel.num / pixel.den : 1;
  const wide = { width: frame.width * stretch, height: frame.height };
  return turned ? { width: wide.height, height: wide.width } : wide;
}

/** Puts the picture on white. The chain sizes one picture, so one white frame is enough. */
function onWhite(chain: FilterChain, picture: FilterContext, size: FrameSize): FilterContext {
  const white = chain.add('color', { color: 'white', size: `${size.width}x${size.height}` });
  const rgb = chain.add('format', { pix_fmts: 'rgb24' }, white);
  const sized = chain.add('scale', { w: size.width, h: size.height }, picture);
  const rgba = chain.add('format', { pix_fmts: 'rgba' }, sized);
  return chain.add('overlay', { format: 'rgb' }, rgb, rgba);
}
