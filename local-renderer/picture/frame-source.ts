import { AV_PIX_FMT_RGB48LE, type Frame } from 'node-av';
import type { FrameSize } from '../frame-size.ts';
import type { Look } from '../look.ts';
import { backdropSize, drawBackdrop } from './backdrop.ts';
import type { FrameShape } from './filter-chain.ts';
import { copyOf, type Fit, fittedImage, playingClip } from './fitting.ts';
import { packedFrame } from './packed-frame.ts';

/** A layer that is visible for the whole video: one frame for each tick. */
export interface FrameSource {
  shape: FrameShape;
  /** The frame of the next tick; the caller frees it. */
  next: () => Promise<Frame>;
  close: () => Promise<void>;
}

/** The drifting lights at a small size, to be scaled up. */
export function backdropSource(look: Look, frame: FrameSize, framesPerSecond: number): FrameSource {
  const shape = { ...backdropSize(frame), format: AV_PIX_FMT_RGB48LE };
  let tick = 0;
  const next = async () => packedFrame(shape, drawBackdrop(look, shape, tick++ / framesPerSecond));
  return { shape, next, close: async () => {} };
}

/** A still image. @throws when the file can't be decoded */
export async function imageSource(path: string, box: FrameSize, fit: Fit): Promise<FrameSource> {
  const image = await fittedImage(path, box, fit);
  return { shape: image, next: async () => copyOf(image), close: async () => image.free() };
}

/** A playing clip. @throws when the file can't be decoded */
export async function clipSource(
  path: string,
  box: FrameSize,
  fit: Fit,
  framesPerSecond: number,
): Promise<FrameSource> {
  const clip = playingClip(path, box, fit, framesPerSecond);
  const take = async () => {
    const { value } = await clip.next();
    if (!value) throw new Error('the clip ended');
    return value;
  };
  const first = await take();
  let unread: Frame | null = copyOf(first);
  const next = async () => {
    const frame = unread ?? (await take());
    unread = null;
    return frame;
  };
  const close = async () => {
    unread?.free();
    first.free();
    await clip.return();
  };
  return { shape: first, next, close };
}
