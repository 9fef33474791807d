import type { FilterContext } from 'node-av';
import type { FrameSize } from '../frame-size.ts';
import type { FilterChain, FilterOptions } from '../picture/filter-chain.ts';
import type { Box } from '../picture/tiles.ts';
import type { Font } from './font.ts';
import { lineEms, type Typeset, typeset } from './typeset.ts';

const CAPTION = 'Framewright local renderer · test pattern, not an AI model';

/** Font sizes of the prompt, as fractions of the frame's shorter side. */
const PROMPT_SIZES = [0.085, 0.07, 0.058, 0.048, 0.04, 0.034];
const SMALL_PROMPT_SIZES = [0.045, 0.034];
const CAPTION_SIZE = 0.026;
/** Height of the letters above the baseline, as a fraction of the font size. */
const RISE = 0.76;

/**
 * The objects that drawing text needs. Each function below draws on a filter's output and returns
 * the result.
 */
export interface Lettering {
  frame: FrameSize;
  font: Font;
  chain: FilterChain;
}

/** Draws the prompt in large letters, vertically centred in the box. */
export function drawPrompt(to: Lettering, below: FilterContext, prompt: string, box: Box) {
  const set = typeset(prompt, to.font, { ...box, fontPixels: pixels(to.frame, PROMPT_SIZES) });
  const top = box.y + (box.height - set.lines.length * set.linePixels) / 2;
  return drawLines(to, below, set, box.x, top, {});
}

/**
 * Draws the prompt in small letters at the bottom of the box; `alpha` is an expression of time `t`.
 */
export function drawSmallPrompt(
  to: Lettering,
  below: FilterContext,
  prompt: string,
  box: Box,
  alpha = '1',
) {
  const fontPixels = pixels(to.frame, SMALL_PROMPT_SIZES);
  const set = typeset(prompt, to.font, { ...box, fontPixels });
  const top = box.y + box.height - set.lines.length * set.linePixels;
  const outline = { borderw: Math.ceil(set.fontPixels / 16), bordercolor: 'black@0.55' };
  return drawLines(to, below, set, box.x, top, { alpha, ...outline });
}

/** Draws the caption at the bottom; on its right the given facts, if there is enough width. */
export function drawCaption(to: Lettering, below: FilterContext, facts: string): FilterContext {
  const { chain, frame, font } = to;
  const height = captionHeight(frame);
  const margin = sideMargin(frame);
  const roomPixels = frame.width - 2 * margin;
  const captionEms = lineEms(CAPTION, font);
  const [wanted = 1] = pixels(frame, [CAPTION_SIZE]);
  const size = Math.floor(Math.min(wanted, roomPixels / captionEms));
  const y = Math.round(frame.height - height / 2 + (size * RISE) / 2);
  const strip = { x: 0, y: frame.height - height, w: frame.width, h: height, t: 'fill' };
  const band = chain.add('drawbox', { ...strip, color: 'black@0.45' }, below);
  const captioned = drawLine(to, band, CAPTION, { fontsize: size, x: margin, y });
  const factsPixels = lineEms(facts, font) * size;
  if (factsPixels + captionEms * size + 2 * size > roomPixels) return captioned;
  const x = Math.floor(frame.width - margin - factsPixels);
  return drawLine(to, captioned, facts, { fontsize: size, x, y, fontcolor: 'white@0.75' });
}

/** The height of the caption strip. */
export function captionHeight(frame: FrameSize): number {
  return 2 * Math.round(Math.min(frame.width, frame.height) * CAPTION_SIZE * 1.1);
}

/** The margin to the left and right of all text. */
export function sideMargin(frame: FrameSize): number {
  return Math.round(frame.width * 0.06);
}

function drawLines(
  to: Lettering,
  below: FilterContext,
  set: Typeset,
  x: number,
  top: number,
  options: FilterOptions,
): FilterContext {
  const baseline = top + (set.linePixels + set.fontPixels * RISE) / 2;
  return set.lines.reduce((last, line, index) => {
    const y = Math.round(baseline + index * set.linePixels);
    return drawLine(to, last, line, { ...options, fontsize: set.fontPixels, x, y });
  }, below);
}

/**
 * One filter for each line, because drawtext draws nothing for text that ends with a line break.
 */
function drawLine(to: Lettering, below: FilterContext, text: string, options: FilterOptions) {
  const look = { fontfile: to.font.path, fontcolor: 'white', y_align: 'baseline' };
  const shadow = { shadowcolor: 'black@0.5', shadowx: 1, shadowy: 1 };
  const settings = { ...look, ...shadow, ...options, text, expansion: 'none' };
  return to.chain.add('drawtext', settings, below);
}

function pixels(frame: FrameSize, fractions: number[]): number[] {
  return fractions.map((fraction) =>
    Math.max(10, Math.round(fraction * Math.min(frame.width, frame.height))),
  );
}
