import { writeFile } from 'node:fs/promises';
import {
  AV_PIX_FMT_RGB24,
  Encoder,
  FF_ENCODER_MJPEG,
  FF_ENCODER_PNG,
  type Frame,
  Rational,
} from 'node-av';
import { writeMp4 } from '../mp4.ts';
import { FilterChain } from '../picture/filter-chain.ts';
import { pictures } from '../picture/media-file.ts';
import { packedFrame } from '../picture/packed-frame.ts';

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

/** Writes an MP4 that shows each colour for one second, at 30 frames a second. */
export async function writeClip(path: string, width: number, height: number, colours: Colour[]) {
  async function* frames() {
    for (const colour of colours) {
      for (let count = 0; count < 30; count++) {
        using rgb = painted(width, height, () => colour);
        yield await inFormat(rgb, 'yuv420p');
      }
    }
  }
  await writeMp4(path, frames(), 30, null);
}

/** Decodes a video. Returns the number of frames, and the frames of the wanted indexes as RGB. */
export async function decodeFrames(path: string, wanted: number[]) {
  const decoded = new Map<number, Picture>();
  let count = 0;
  for await (const { frame } of pictures(path)) {
    using source = frame;
    if (wanted.includes(count)) decoded.set(count, await asRgb(source));
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

async function asRgb(frame: Frame): Promise<Picture> {
  const { width, height } = frame;
  using rgb = await inFormat(frame, 'rgb24');
  const bytes = rgb.toBuffer();
  const at = (x: number, y: number): Colour => {
    const offset = (Math.floor(y * height) * width + Math.floor(x * width)) * 3;
    return [bytes.readUInt8(offset), bytes.readUInt8(offset + 1), bytes.readUInt8(offset + 2)];
  };
  return { width, height, at };
}

async function inFormat(frame: Frame, format: string): Promise<Frame> {
  using chain = new FilterChain(1);
  const input = chain.input(frame);
  const colours = { out_color_matrix: 'bt709', out_range: format === 'rgb24' ? 'pc' : 'tv' };
  const scaled = chain.add('scale', colours, input.output);
  const next = await chain.start(chain.add('format', { pix_fmts: format }, scaled));
  await input.push(frame, 0);
  const finished = await next();
  return typeof finished === 'string' ? fail(finished) : finished;
}

function painted(width: number, height: number, paint: Paint): Frame {
  const pixels = Buffer.alloc(width * height * 3);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      pixels.set(paint(column / width, row / height), (row * width + column) * 3);
    }
  }
  return packedFrame({ width, height, format: AV_PIX_FMT_RGB24 }, pixels);
}

function fail(message: string): never {
  throw new Error(message);
}
