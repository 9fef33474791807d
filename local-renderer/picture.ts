import { closeSync, openSync, readSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { AV_FRAME_DATA_DISPLAYMATRIX, type FilterContext } from 'node-av';
import { FilterGraph } from './filter-graph.ts';

export interface FrameSize {
  width: number;
  height: number;
}

export const FRAMES_PER_SECOND = 24;

/** Colour space of every sized picture and of the output, so that no frame is converted twice. */
export const VIDEO_COLOURS = { out_color_matrix: 'bt709', out_range: 'tv' } as const;

/** Fills the box with the middle of an image. @throws when the file can't be decoded */
export async function cover(
  graph: FilterGraph,
  path: string,
  box: FrameSize,
): Promise<FilterContext> {
  const ratio = box.width / box.height;
  // Crops before scaling: otherwise, a strip of 1 by 5000 pixels would become huge in between.
  const crop = {
    w: `max(1,min(iw,ih*${ratio}/sar))`,
    h: `max(1,min(ih,iw*sar/${ratio}))`,
    exact: 1,
  };
  const cropped = graph.add('crop', crop, await upright(graph, path, {}));
  const size = { w: box.width, h: box.height, ...VIDEO_COLOURS };
  return still(graph, onCard(graph, graph.add('scale', size, cropped), box));
}

/** Shows a whole image, or plays a whole clip again and again. @throws when it can't be decoded */
export async function contain(
  graph: FilterGraph,
  path: string,
  box: FrameSize,
  kind: 'image' | 'clip',
): Promise<FilterContext> {
  const fit = { force_original_aspect_ratio: 'decrease', reset_sar: 1, ...VIDEO_COLOURS };
  const size = { w: box.width, h: box.height, ...fit };
  const picture = kind === 'clip' ? await playing(graph, path) : await upright(graph, path, {});
  const shown = onCard(graph, graph.add('scale', size, picture), box);
  return kind === 'clip' ? shown : still(graph, shown);
}

/** Timestamps that keep growing while a clip repeats: its own start over each time. */
const ENDLESS = `if(isnan(PREV_INPTS),0,
  PREV_OUTPTS+if(gt(PTS,PREV_INPTS),PTS-PREV_INPTS,1/(${FRAMES_PER_SECOND}*TB)))`;

async function playing(graph: FilterGraph, path: string): Promise<FilterContext> {
  const endless = graph.add('setpts', { expr: ENDLESS }, await upright(graph, path, { loop: 0 }));
  // Before scaling, so that only the shown frames are scaled: 24 of a clip's 60 a second.
  return graph.add('fps', { fps: FRAMES_PER_SECOND }, endless);
}

/** Centers a picture on a white card, which shows through its transparent parts. */
function onCard(graph: FilterGraph, picture: FilterContext, { width, height }: FrameSize) {
  const card = { color: 'white', size: `${width}x${height}`, rate: FRAMES_PER_SECOND };
  const clear = graph.add('format', { pix_fmts: 'yuva420p' }, picture);
  const place = { x: '(W-w)/2', y: '(H-h)/2' };
  return graph.add('overlay', place, graph.add('color', card), clear);
}

/** Repeats the first frame, which is drawn only once. */
function still(graph: FilterGraph, picture: FilterContext): FilterContext {
  const first = graph.add('trim', { end_frame: 1 }, picture);
  return graph.add('loop', { loop: -1, size: 1 }, first);
}

type Step = readonly [name: string, options: Record<string, string | number>];

async function upright(graph: FilterGraph, path: string, options: { loop?: number }) {
  const file = await examine(path);
  const frames = addFile(graph, file.path, options);
  return file.steps.reduce((last, [name, settings]) => graph.add(name, settings, last), frames);
}

/** The filters that turn a file upright, and the path to read it at. */
async function examine(path: string): Promise<{ path: string; steps: Step[] }> {
  try {
    return { path, steps: uprightSteps(await displayMatrixOf(path)) };
  } catch (error) {
    // FFmpeg refuses a PNG for flawed EXIF data.
    const bytes = await readFile(path);
    const chunk = bytes.indexOf('eXIf');
    if (chunk === -1) throw error;
    bytes.write('skIp', chunk);
    const copy = `${path}-without-exif`;
    await writeFile(copy, bytes);
    return { path: copy, steps: uprightSteps(await displayMatrixOf(copy)) };
  }
}

async function displayMatrixOf(path: string): Promise<Buffer | null> {
  using graph = new FilterGraph();
  for await (const frame of graph.frames(addFile(graph, path, {}))) {
    using first = frame;
    return first.getSideData(AV_FRAME_DATA_DISPLAYMATRIX);
  }
  throw new Error(`no picture could be decoded in ${path}`);
}

/** The format comes from the first bytes, and the file can't make FFmpeg open an address. */
function addFile(graph: FilterGraph, path: string, options: { loop?: number }): FilterContext {
  const file = { filename: `file:${path}`, format_name: formatOf(path) };
  const limits = { format_opts: 'protocol_whitelist=file', dec_threads: 1 };
  return graph.add('movie', { ...file, ...limits, ...options });
}

function formatOf(path: string): string {
  const head = Buffer.alloc(16);
  const descriptor = openSync(path, 'r');
  readSync(descriptor, head);
  closeSync(descriptor);
  const text = head.toString('latin1');
  if (text.startsWith('\xff\xd8\xff')) return 'jpeg_pipe';
  if (text.startsWith('\x89PNG')) return 'png_pipe';
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP') return 'webp_pipe';
  if (text.startsWith('\x1a\x45\xdf\xa3')) return 'matroska';
  if (/^....(ftyp|moov|mdat|free|wide|skip)/s.test(text)) return 'mov';
  throw new Error(`${path} is not a supported image or video`);
}

/**
 * The filters that undo a camera's display matrix of nine 16.16 numbers; front cameras mirror.
 * Source: FFmpeg's `libavutil/display.h` and the autorotation of its `ffmpeg` program.
 */
export function uprightSteps(matrix: Buffer | null): Step[] {
  if (!matrix || matrix.length < 36) return [];
  const [a = 0, b = 0, c = 0, d = 0] = [0, 1, 3, 4].map((index) => matrix.readInt32LE(index * 4));
  if (Math.abs(b) > Math.abs(a)) {
    if (b > 0) return [['transpose', { dir: c > 0 ? 'cclock_flip' : 'clock' }]];
    return [['transpose', { dir: c > 0 ? 'cclock' : 'clock_flip' }]];
  }
  const mirrored: Step[] = a < 0 ? [['hflip', {}]] : [];
  return d < 0 ? [...mirrored, ['vflip', {}]] : mirrored;
}
