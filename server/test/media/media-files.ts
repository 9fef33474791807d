import { readFile, truncate, writeFile } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import { Encoder, Muxer } from 'node-av/api';
import {
  AV_LOG_QUIET,
  AV_PKT_DATA_DISPLAYMATRIX,
  AVERROR_EOF,
  FF_ENCODER_AAC,
  FF_ENCODER_GIF,
  FF_ENCODER_LIBOPUS,
  FF_ENCODER_LIBSVTAV1,
  FF_ENCODER_LIBVPX_VP8,
  FF_ENCODER_LIBVPX_VP9,
  FF_ENCODER_LIBWEBP,
  FF_ENCODER_LIBX264,
  FF_ENCODER_LIBX265,
  FF_ENCODER_MJPEG,
  FF_ENCODER_PNG,
} from 'node-av/constants';
import {
  FFmpegError,
  type FilterContext,
  FilterGraph,
  type FormatContext,
  Frame,
  Log,
  Rational,
} from 'node-av/lib';
import { createRandom } from '../random.ts';

/** The properties of a test video; the defaults give a small valid mp4. */
export interface TestVideo {
  codec?: keyof typeof VIDEO_CODECS;
  format?: 'mp4' | 'mov' | 'webm' | 'matroska';
  width?: number;
  height?: number;
  fps?: number;
  /** `seconds * fps` frames are made. */
  seconds?: number;
  /** `null` makes a video track alone; `only` an audio track alone. */
  audio?: null | 'with' | 'only';
  /** How much a player turns the picture, clockwise. */
  rotationDegrees?: 90 | 180 | 270;
  pixelFormat?: 'yuv420p' | 'yuv420p10le' | 'yuvj420p';
  /** FFmpeg filters put after the test picture, for example `setpts` or `setsar`. */
  filters?: string;
  codecOptions?: Record<string, string>;
  /** Options of the muxer, for example `movflags`. */
  formatOptions?: Record<string, string>;
  maxBFrames?: number;
}

const AUDIO_RATE = 48_000;
const VIDEO_CODECS = {
  h264: FF_ENCODER_LIBX264,
  hevc: FF_ENCODER_LIBX265,
  vp8: FF_ENCODER_LIBVPX_VP8,
  vp9: FF_ENCODER_LIBVPX_VP9,
  av1: FF_ENCODER_LIBSVTAV1,
  mjpeg: FF_ENCODER_MJPEG,
};
const IMAGE_CODECS = {
  jpeg: FF_ENCODER_MJPEG,
  png: FF_ENCODER_PNG,
  webp: FF_ENCODER_LIBWEBP,
  gif: FF_ENCODER_GIF,
};
const FASTEST: Record<keyof typeof VIDEO_CODECS, Record<string, string>> = {
  h264: { preset: 'veryfast' },
  hevc: { preset: 'ultrafast', 'x265-params': 'log-level=none' },
  vp8: { deadline: 'realtime', 'cpu-used': '8' },
  vp9: { deadline: 'realtime', 'cpu-used': '8' },
  av1: { preset: '12' },
  mjpeg: {},
};
const DEFAULTS = {
  codec: 'h264',
  format: 'mp4',
  width: 320,
  height: 180,
  fps: 24,
  seconds: 1,
  pixelFormat: 'yuv420p',
  filters: 'null',
} as const;

/**
 * Makes one video with FFmpeg, the same bytes each time.
 * @throws FFmpegError when FFmpeg refuses the options
 */
export async function makeVideo(path: string, options: TestVideo = {}): Promise<void> {
  const video: Wanted = { ...DEFAULTS, ...options };
  Log.setLevel(AV_LOG_QUIET);
  const graph = await openGraph(graphText(video));
  const muxer = await openMuxer(path, video);
  const tracks: Track[] = [];
  const open = (sinkName: string, encoder: Encoder) => {
    const sink = sinkOf(graph, sinkName);
    tracks.push({ sink, encoder, muxer, index: muxer.addStream(encoder), atSeconds: 0 });
  };
  if (video.audio !== 'only') open('buffersink@v', await videoEncoder(video));
  if (video.audio) {
    const codec = isMp4(video) ? FF_ENCODER_AAC : FF_ENCODER_LIBOPUS;
    open('abuffersink@a', await Encoder.create(codec, { bitrate: '64k' }));
  }
  await pumpAll(tracks);
  await muxer.close();
  graph.free();
}

/** Makes a short video, followed by zeros that count as its media. */
export async function makeLargeVideo(path: string, sizeBytes: number): Promise<void> {
  await makeVideo(path, { formatOptions: { movflags: 'faststart' } });
  const bytes = await readFile(path);
  const at = bytes.indexOf('mdat') - 4;
  bytes.writeUInt32BE(sizeBytes - at, at);
  await writeFile(path, bytes);
  await truncate(path, sizeBytes);
}

type Wanted = TestVideo & Required<Pick<TestVideo, keyof typeof DEFAULTS>>;

const isMp4 = ({ format }: Wanted) => format === 'mp4' || format === 'mov';

function graphText(video: Wanted): string {
  const { width, height, fps, seconds, filters, pixelFormat, audio } = video;
  const picture =
    `testsrc2=size=${width}x${height}:rate=${fps},trim=end_frame=${Math.round(seconds * fps)},` +
    `${filters},format=${pixelFormat},buffersink@v`;
  const sound =
    `sine=frequency=330:sample_rate=${AUDIO_RATE}:duration=${seconds},` +
    `aformat=sample_fmts=${isMp4(video) ? 'fltp' : 'flt'}:channel_layouts=stereo,abuffersink@a`;
  if (audio === 'only') return sound;
  return audio ? `${picture};${sound}` : picture;
}

async function openGraph(text: string): Promise<FilterGraph> {
  const graph = new FilterGraph();
  graph.alloc();
  FFmpegError.throwIfError(graph.parsePtr(text), text);
  FFmpegError.throwIfError(await graph.config(), text);
  return graph;
}

function openMuxer(path: string, video: Wanted): Promise<Muxer> {
  return Muxer.open(path, {
    format: video.format,
    options: { ...video.formatOptions },
    configure: (context: FormatContext) => {
      if (!video.rotationDegrees) return;
      const matrix = displayMatrix(video.rotationDegrees);
      context.streams[0]?.codecpar.addCodedSideData(AV_PKT_DATA_DISPLAYMATRIX, matrix);
    },
  });
}

/** Nine 32-bit numbers in 16.16 fixed point; the last column is in 2.30. */
function displayMatrix(clockwiseDegrees: number): Buffer {
  const angle = (clockwiseDegrees * Math.PI) / 180;
  const [cos, sin] = [Math.round(Math.cos(angle)), Math.round(Math.sin(angle))];
  const numbers = [cos << 16, sin << 16, 0, -sin << 16, cos << 16, 0, 0, 0, 1 << 30];
  const matrix = Buffer.alloc(36);
  numbers.forEach((number, index) => {
    matrix.writeInt32LE(number, index * 4);
  });
  return matrix;
}

function videoEncoder(video: Wanted): Promise<Encoder> {
  return Encoder.create(VIDEO_CODECS[video.codec], {
    gopSize: 2 * video.fps,
    ...(video.maxBFrames === undefined ? {} : { maxBFrames: video.maxBFrames }),
    context: { threadCount: 1, framerate: new Rational(video.fps, 1) },
    options: { ...FASTEST[video.codec], ...video.codecOptions },
  });
}

/** One encoder between a sink of the graph and the muxer. */
interface Track {
  sink: FilterContext;
  encoder: Encoder;
  muxer: Muxer;
  index: number;
  atSeconds: number;
}

function sinkOf(graph: FilterGraph, name: string): FilterContext {
  const sink = graph.getFilter(name);
  if (!sink) throw new Error(`the graph has no ${name}`);
  return sink;
}

/** Takes frames from the track that is behind, so that the file is well interleaved. */
async function pumpAll(tracks: Track[]): Promise<void> {
  const open = new Set(tracks);
  while (open.size > 0) {
    const [behind] = [...open].sort((one, other) => one.atSeconds - other.atSeconds);
    if (behind && !(await pump(behind))) open.delete(behind);
  }
}

/** Moves one frame; false at the end. */
async function pump(track: Track): Promise<boolean> {
  using frame = new Frame();
  frame.alloc();
  const code = await track.sink.buffersinkGetFrame(frame);
  const isEnd = code === AVERROR_EOF;
  if (!isEnd) {
    FFmpegError.throwIfError(code, 'read a frame');
    frame.timeBase = track.sink.buffersinkGetTimeBase();
    track.atSeconds = (Number(frame.pts) * frame.timeBase.num) / frame.timeBase.den;
  }
  for await (const packet of track.encoder.packets(isEnd ? null : frame)) {
    if (packet === null) break;
    await track.muxer.writePacket(packet, track.index);
    packet.free();
  }
  if (isEnd) await track.muxer.writePacket(null, track.index);
  return !isEnd;
}

/** Makes one still test picture. */
export async function makeImage(
  path: string,
  format: keyof typeof IMAGE_CODECS,
  width = 320,
  height = 180,
): Promise<void> {
  const pixelFormat = { jpeg: 'yuvj420p', png: 'rgb24', webp: 'yuv420p', gif: 'bgr8' }[format];
  const source = `testsrc2=size=${width}x${height},trim=end_frame=1`;
  const graph = await openGraph(`${source},format=${pixelFormat},buffersink@v`);
  using frame = new Frame();
  frame.alloc();
  const sink = sinkOf(graph, 'buffersink@v');
  FFmpegError.throwIfError(await sink.buffersinkGetFrame(frame), format);
  frame.timeBase = sink.buffersinkGetTimeBase();
  await writeFile(path, await Encoder.encodeOne(IMAGE_CODECS[format], frame));
  graph.free();
}

/** A PNG whose header claims a size that its data does not have. */
export function pngOfClaimedSize(png: Buffer, width: number, height: number): Buffer {
  const claimed = Buffer.from(png);
  claimed.writeUInt32BE(width, 16);
  claimed.writeUInt32BE(height, 20);
  return claimed;
}

/** The file with one field of each box of a type overwritten; offsets count from the box's type. */
export function patchBoxes(mp4: Buffer, type: string, fields: Record<number, number>): Buffer {
  const patched = Buffer.from(mp4);
  for (let at = patched.indexOf(type); at >= 0; at = patched.indexOf(type, at + 4)) {
    for (const [offset, value] of Object.entries(fields)) {
      patched.writeUInt32BE(value, at + Number(offset));
    }
  }
  return patched;
}

/** The file with `count` bytes changed, the same ones for the same seed. */
export function withFlippedBytes(bytes: Buffer, seed: number, count: number): Buffer {
  const flipped = Buffer.from(bytes);
  const random = createRandom(seed);
  for (let left = count; left > 0; left -= 1) {
    const at = random.below(flipped.length);
    flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << random.below(8)), at);
  }
  return flipped;
}

/** The containers from the file down to the list of its data references. */
const WAY_TO_REFERENCES = ['moov', 'trak', 'mdia', 'minf', 'dinf', 'dref', 'url '];

/** The mp4, whose index comes last, with bytes put into its data reference; all sizes fit. */
export function insertInBoxes(mp4: Buffer, position: number, inserted: Buffer): Buffer {
  const bytes = Buffer.concat([mp4.subarray(0, position), inserted, mp4.subarray(position)]);
  for (const type of WAY_TO_REFERENCES) {
    const at = mp4.lastIndexOf(type, position) - 4;
    bytes.writeUInt32BE(mp4.readUInt32BE(at) + inserted.length, at);
  }
  return bytes;
}

/** The mp4, whose index comes last, with its index compressed as QuickTime did (`cmov`). */
export function withCompressedIndex(mp4: Buffer): Buffer {
  const at = mp4.lastIndexOf('moov') - 4;
  const index = mp4.subarray(at);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(index.length);
  const data = box('cmvd', size, deflateSync(index));
  return Buffer.concat([
    mp4.subarray(0, at),
    box('moov', box('cmov', box('dcom', Buffer.from('zlib')), data)),
  ]);
}

function box(type: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}
