export const RESOLUTIONS = ['480p', '720p', '1080p', '4k'] as const;
export const RATIOS = ['1:1', '21:9', '4:3', '3:4', '16:9', '9:16'] as const;

type Resolution = (typeof RESOLUTIONS)[number];
type Ratio = (typeof RATIOS)[number];
type Size = readonly [width: number, height: number];

const PIXELS: Record<Resolution, Record<Exclude<Ratio, '3:4' | '9:16'>, Size>> = {
  '480p': { '16:9': [864, 496], '4:3': [752, 560], '1:1': [640, 640], '21:9': [992, 432] },
  '720p': { '16:9': [1280, 720], '4:3': [1112, 834], '1:1': [960, 960], '21:9': [1470, 630] },
  '1080p': { '16:9': [1920, 1080], '4:3': [1664, 1248], '1:1': [1440, 1440], '21:9': [2206, 946] },
  '4k': { '16:9': [3840, 2160], '4:3': [3326, 2494], '1:1': [2880, 2880], '21:9': [4398, 1886] },
};

/**
 * The pixels of a Seedance 2.0 video. Portrait sizes are the landscape ones with swapped sides.
 * Source: ModelArk create task, "Output pixel sizes".
 */
export function seedanceSize(resolution: Resolution, ratio: Ratio) {
  const sizes = PIXELS[resolution];
  if (ratio === '9:16') return swapped(sizes['16:9']);
  if (ratio === '3:4') return swapped(sizes['4:3']);
  const [width, height] = sizes[ratio];
  return { width, height };
}

function swapped([width, height]: Size) {
  return { width: height, height: width };
}
