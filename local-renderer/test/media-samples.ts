import { writeFile } from 'node:fs/promises';
import {
  AV_PIX_FMT_RGB24,
  Encoder,
  FF_ENCODER_MJPEG,
  FF_ENCODER_PNG,
  FFmpegError,
  Frame,
  Rational,
} from 'node-av';
import { FilterGraph } from '../filter-graph.ts';

export type Colour = readonly [red: number, green: number, blue: number];

/** The colour at a position; both coordinates are 0 up to 1. */
export type Paint = (x: number, y: number) => Colour;

/** Writes a PNG or JPEG. */
export async function writeImage(path: string, width: number, height: number, paint: Paint) {
  using frame = painted(width, height, paint);
  frame.timeBase = new Rational(1, 25);
  frame.pts = 0n;
  const codec = path.endsWith('.png') ? FF_ENCODER_PNG : FF_ENCODER_MJPEG;
  const context = { timeBase: new Rational(1, 25), framerate: new Rational(25, 1) };
  await writeFile(path, await Encoder.encodeOne(codec, frame, { context, autoFormat: true }));
}

/** Decodes a video. Returns the number of frames, and the frames of the wanted indexes as RGB. */
export async function decodeFrames(path: string, wanted: number[]) {
  const decoded = new Map<number, Picture>();
  let count = 0;
  using graph = new FilterGraph();
  const scaled = graph.add('scale', {}, graph.add('movie', { filename: `file:${path}` }));
  for await (const frame of graph.frames(graph.add('format', { pix_fmts: 'rgb24' }, scaled))) {
    using rgb = frame;
    if (wanted.includes(count)) decoded.set(count, pictureOf(rgb));
    count++;
  }
  return { count, frame: (index: number) => decoded.get(index) ?? fail(`no frame ${index}`) };
}

export interface Picture {
  width: number;
  height: number;
  /** The colour at a position; both coordinates are 0 up to 1. */
  at: (x: number, y: number) => Colour;
}

function pictureOf(rgb: Frame): Picture {
  const { width, height } = rgb;
  const bytes = rgb.toBuffer();
  const at = (x: number, y: number): Colour => {
    const offset = (Math.floor(y * height) * width + Math.floor(x * width)) * 3;
    return [bytes.readUInt8(offset), bytes.readUInt8(offset + 1), bytes.readUInt8(offset + 2)];
  };
  return { width, height, at };
}

/**
 * Writes to the frame itself: `Frame.fromVideoBuffer` of node-av 6.1 keeps only a pointer to the
 * given bytes, which are freed before they are read.
 */
function painted(width: number, height: number, paint: Paint): Frame {
  const frame = new Frame();
  frame.alloc();
  Object.assign(frame, { width, height, format: AV_PIX_FMT_RGB24 });
  FFmpegError.throwIfError(frame.getBuffer(), 'allocate a frame');
  const [pixels] = frame.data ?? [];
  const [stride = 0] = frame.linesize;
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      pixels?.set(paint(column / width, row / height), row * stride + column * 3);
    }
  }
  return frame;
}

function fail(message: string): never {
  throw new Error(message);
}
