import { ASPECT_RATIOS, type AspectRatio, type Resolution } from './models.ts';

export interface FrameSize {
  width: number;
  height: number;
}

type Landscape = Exclude<AspectRatio, '3:4' | '9:16'>;

/** Width and height of a landscape or square output, as the model's provider documents them. */
const PIXELS: Record<Resolution, Record<Landscape, readonly [number, number]>> = {
  '480p': { '16:9': [864, 496], '4:3': [752, 560], '1:1': [640, 640], '21:9': [992, 432] },
  '720p': { '16:9': [1280, 720], '4:3': [1112, 834], '1:1': [960, 960], '21:9': [1470, 630] },
  '1080p': { '16:9': [1920, 1080], '4:3': [1664, 1248], '1:1': [1440, 1440], '21:9': [2206, 946] },
  '4k': { '16:9': [3840, 2160], '4:3': [3326, 2494], '1:1': [2880, 2880], '21:9': [4398, 1886] },
};

/**
 * The exact size of a video in pixels. Its ratio is close to the named ratio, but not always equal
 * (1470x630 is 21:9, 2206x946 is not). Width and height are always even, but not always multiples
 * of 16. A portrait size is the landscape size with width and height exchanged.
 * Source: ModelArk create task, "Output pixel sizes".
 */
export function frameSize(resolution: Resolution, aspectRatio: AspectRatio): FrameSize {
  const sizes = PIXELS[resolution];
  if (aspectRatio === '9:16') return turned(sizes['16:9']);
  if (aspectRatio === '3:4') return turned(sizes['4:3']);
  const [width, height] = sizes[aspectRatio];
  return { width, height };
}

function turned([width, height]: readonly [number, number]): FrameSize {
  return { width: height, height: width };
}

/**
 * The listed ratio that is nearest to the ratio of a picture. The distance is the logarithm of the
 * quotient, so 2:1 and 1:2 are equally far from 1:1.
 */
export function nearestAspectRatio(width: number, height: number): AspectRatio {
  const distance = (ratio: AspectRatio) => {
    const [across = 1, down = 1] = ratio.split(':').map(Number);
    return Math.abs(Math.log(width / height) - Math.log(across / down));
  };
  return [...ASPECT_RATIOS].sort((a, b) => distance(a) - distance(b))[0] ?? '16:9';
}
