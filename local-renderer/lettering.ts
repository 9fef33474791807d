import { createRequire } from 'node:module';
import path from 'node:path';
import type { FrameSize } from './picture.ts';

const FONT = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
export const FONTS = path.dirname(FONT);

const FONT_NAME = 'DejaVu Sans';
/** White letters with an outline and a shadow that are half transparent. */
const COLOURS = '&H00FFFFFF,&H80000000,&H80000000';
const STYLE_FIELDS =
  'Name,Fontname,Fontsize,PrimaryColour,OutlineColour,BackColour,' +
  'Outline,Shadow,Alignment,MarginL,MarginR,MarginV';

const CAPTION = 'Framewright local renderer · test pattern, not an AI model';

/** Where and when the prompt is shown. Lengths are fractions of the frame's sides. */
interface Placement {
  /** As on a number pad: 5 is the middle, 2 the middle of the bottom. */
  alignment: 2 | 5;
  height: number;
  largest: number;
  fromSeconds: number;
  toSeconds: number;
}

/** The size of a prompt's smallest letters. A prompt that is too long even for them is cut. */
const SMALLEST = 0.034;
/** The area of a letter with its spacing, in squares of the font size. */
const LETTER_AREA = 0.75;
const SIDE_MARGIN = 0.06;

/**
 * The prompt and the caption as a subtitle script (ASS). The prompt may be any text: its line
 * breaks become spaces, and its letters are as large as its box allows.
 */
export function subtitles(frame: FrameSize, prompt: string, placement: Placement): string {
  const { alignment, fromSeconds, toSeconds } = placement;
  const side = Math.min(frame.width, frame.height);
  const margin = Math.round(frame.width * SIDE_MARGIN);
  const { text, pixels } = fitted(plain(prompt), frame, placement);
  const captionPixels = Math.floor(Math.min(Math.max(12, side * 0.03), frame.width / 32));
  const bottom = alignment === 2 ? 3 * captionPixels : 0;
  const prompted = [pixels / 16, 1, alignment, margin, margin, bottom];
  return `[Script Info]
ScriptType: v4.00+
PlayResX: ${frame.width}
PlayResY: ${frame.height}
[V4+ Styles]
Format: ${STYLE_FIELDS}
Style: ${['Prompt', FONT_NAME, pixels, COLOURS, ...prompted].join(',')}
Style: ${['Caption', FONT_NAME, captionPixels, COLOURS, 1, 0, 2, 0, 0, captionPixels].join(',')}
[Events]
Format: Start,End,Style,Text
Dialogue: ${clock(fromSeconds)},${clock(toSeconds)},Prompt,${escaped(text)}
Dialogue: ${clock(0)},${clock(3600)},Caption,${CAPTION}
`;
}

/** One line, without control characters. */
function plain(text: string): string {
  const line = text.toWellFormed().replace(/[\p{Cc}\s]+/gu, ' ');
  return line.trim();
}

/** A word joiner keeps the letter after a backslash from being read as a command. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\u2060').replace(/[{}]/g, '\\$&');
}

function fitted(text: string, frame: FrameSize, { height, largest }: Placement) {
  const side = Math.min(frame.width, frame.height);
  const width = frame.width * (1 - 2 * SIDE_MARGIN);
  const area = width * frame.height * height;
  const fitting = Math.sqrt(area / LETTER_AREA / Math.max(1, text.length));
  const pixels = Math.round(Math.min(side * largest, Math.max(10, side * SMALLEST, fitting)));
  const letters = Math.floor(area / LETTER_AREA / pixels ** 2);
  const cut = text.length > letters ? `${text.slice(0, letters).toWellFormed()}…` : text;
  // Lines break at spaces only, so longer words and Chinese sentences get some.
  const tooWide = new RegExp(`\\S{${Math.floor(width / pixels)}}`, 'gu');
  return { text: cut.replace(tooWide, '$& '), pixels };
}

/** @returns hours, minutes and seconds, such as `0:00:04.50` */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 3600)}:00:${(seconds % 60).toFixed(2).padStart(5, '0')}`;
}
