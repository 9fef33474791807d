import { setImmediate as immediate } from 'node:timers/promises';
import {
  AV_DISPOSITION_ATTACHED_PIC,
  AV_NOPTS_VALUE,
  AV_PKT_FLAG_CORRUPT,
  AV_PKT_FLAG_DISCARD,
  AVDISCARD_ALL,
  AVERROR_EOF,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
  AVSEEK_CUR,
  AVSEEK_END,
  AVSEEK_SIZE,
} from 'node-av/constants';
import {
  Codec,
  Dictionary,
  FormatContext,
  type Frame,
  InputFormat,
  IOContext,
  Packet,
  type Stream,
} from 'node-av/lib';
import type { ByteSource } from '../byte-source.ts';
import { openDecoder, requireSuccess } from '../decoder.ts';
import { type DecodedFrames, limitPixels, PIXEL_BOUNDS, RefusedMedia } from '../measurement.ts';

/** The demuxers, each with all of FFmpeg's names for it, as `format_whitelist` needs them. */
const FORMATS = { mov: 'mov,mp4,m4a,3gp,3g2,mj2', matroska: 'matroska,webm' };
/** Decoders for what cameras, browsers and encoders write. FFmpeg's hundreds of others are off. */
const CODECS = 'h264,hevc,libdav1d,vp8,vp9,mpeg4,mpeg2video,mjpeg,prores,h263';
const STREAM_LIMIT = 16;
const IO_BUFFER_BYTES = 64 * 1024;
const SEEK_FAILED = -1n;

/**
 * Opens a container that reads only from the given source: with this demuxer alone and no protocol,
 * a file can't make FFmpeg open another file or URL.
 * @param looksAhead whether FFmpeg decodes some frames first, to learn what the headers leave out
 * @throws RefusedMedia when FFmpeg can't read the container
 */
export async function openContainer(
  file: ByteSource,
  container: 'mov' | 'matroska',
  looksAhead: boolean,
): Promise<FormatContext> {
  const format = InputFormat.findInputFormat(container);
  if (!format) throw new Error(`no demuxer for ${container}`);
  const input = new FormatContext();
  input.allocContext();
  input.pb = sourceContext(file);
  const options = Dictionary.fromObject({
    protocol_whitelist: 'none',
    format_whitelist: FORMATS[container],
    codec_whitelist: CODECS,
    max_streams: STREAM_LIMIT,
  });
  requireSuccess(await input.openInput('', format, options));
  // findStreamInfo decodes some frames with its own decoders, which do not get max_pixels.
  for (const { codecpar } of input.streams) limitPixels(codecpar, PIXEL_BOUNDS.videoPixels);
  if (looksAhead) requireSuccess(await input.findStreamInfo());
  return input;
}

function sourceContext(file: ByteSource): IOContext {
  let position = 0;
  const context = new IOContext();
  const read = (lengthBytes: number) => {
    const bytes = file.read(position, lengthBytes);
    position += bytes.length;
    return bytes.length > 0 ? bytes : null;
  };
  const seek = (offset: bigint, whence: number) => {
    if (whence & AVSEEK_SIZE) return BigInt(file.sizeBytes);
    const target = Number(offset) + seekOrigin(whence, position, file.sizeBytes);
    // An offset past the end belongs to samples that are missing from a truncated file.
    if (target < 0 || target > file.sizeBytes) return SEEK_FAILED;
    position = target;
    return BigInt(position);
  };
  context.allocContextWithCallbacks(IO_BUFFER_BYTES, 0, read, null, seek);
  return context;
}

function seekOrigin(whence: number, position: number, sizeBytes: number): number {
  const base = whence & 0x3;
  return base === AVSEEK_CUR ? position : base === AVSEEK_END ? sizeBytes : 0;
}

export async function closeContainer(input: FormatContext): Promise<void> {
  const { pb } = input;
  await input.closeInput();
  pb?.freeContext();
}

/** How long to read before yielding to the event loop, to notice a lost parent. */
const TURN_MS = 50;

/**
 * Every packet of the given streams, in file order, in one reused object. Packets are read in this
 * thread: a turn of the event loop takes longer than reading one.
 */
export async function* packets(input: FormatContext, streams: number[]): AsyncGenerator<Packet> {
  for (const stream of input.streams) {
    if (!streams.includes(stream.index)) stream.discard = AVDISCARD_ALL;
  }
  using packet = new Packet();
  packet.alloc();
  for (let turnEnds = performance.now() + TURN_MS; ; ) {
    if (performance.now() > turnEnds) {
      await immediate();
      turnEnds = performance.now() + TURN_MS;
    }
    const code = input.readFrameSync(packet);
    if (code === AVERROR_EOF) return;
    requireSuccess(code);
    if (packet.hasFlags(AV_PKT_FLAG_CORRUPT)) throw new RefusedMedia('undecodable');
    if (streams.includes(packet.streamIndex)) yield packet;
    packet.unref();
  }
}

/** Whether an edit list excludes this packet. */
export function isCutOff(packet: Packet): boolean {
  return packet.hasFlags(AV_PKT_FLAG_DISCARD);
}

export function seconds(timestamp: bigint, timeBase: { num: number; den: number }): number | null {
  if (timestamp === AV_NOPTS_VALUE) return null;
  return (Number(timestamp) * timeBase.num) / timeBase.den;
}

/** The stream that a player would choose, not a cover picture. @throws RefusedMedia without one */
export function videoStream(input: FormatContext): Stream {
  const streams = input.streams.filter(
    (stream) =>
      stream.codecpar.codecType === AVMEDIA_TYPE_VIDEO &&
      !stream.hasDisposition(AV_DISPOSITION_ATTACHED_PIC),
  );
  const best = input.findBestStream(AVMEDIA_TYPE_VIDEO);
  const chosen = streams.find((stream) => stream.index === best) ?? streams[0];
  if (!chosen) {
    throw new RefusedMedia('not_a_video', { explanation: 'The file contains no video.' });
  }
  return chosen;
}

export function audioStream(input: FormatContext, video: Stream): Stream | null {
  const best = input.findBestStream(AVMEDIA_TYPE_AUDIO, -1, video.index);
  return input.streams.find((stream) => stream.index === best) ?? null;
}

/** @throws RefusedMedia when its decoder may not run, or the picture is too large */
export function openVideoDecoder(stream: Stream, frames: DecodedFrames) {
  limitPixels(stream.codecpar, PIXEL_BOUNDS.videoPixels);
  const codec = Codec.findDecoder(stream.codecpar.codecId);
  if (!codec || !CODECS.split(',').includes(codec.name ?? '')) {
    throw damaged('The codec of the video is not supported.');
  }
  const maxPixels = PIXEL_BOUNDS.videoPixels;
  return openDecoder({ codec, stream, maxPixels, errorDetection: 'crccheck', frames });
}

/** Prefers the container's ratio to the codec's, as in FFmpeg's av_guess_sample_aspect_ratio. */
export function sampleAspect(stream: Stream, frame: Frame): number {
  const ratios = [stream.sampleAspectRatio, frame.sampleAspectRatio];
  const known = ratios.find(({ num, den }) => num > 0 && den > 0);
  return known ? known.num / known.den : 1;
}

export function damaged(explanation: string): RefusedMedia {
  return new RefusedMedia('undecodable', { explanation });
}

export function codecName(stream: Stream): string {
  return Codec.findDecoder(stream.codecpar.codecId)?.name ?? `codec ${stream.codecpar.codecId}`;
}
