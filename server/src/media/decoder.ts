import {
  AV_BUFFERSRC_FLAG_KEEP_REF,
  AV_FRAME_DATA_DISPLAYMATRIX,
  AV_FRAME_FLAG_CORRUPT,
  AVERROR_EAGAIN,
  AVERROR_ENOMEM,
  AVERROR_EOF,
} from 'node-av/constants';
import {
  type Codec,
  CodecContext,
  Dictionary,
  FilterGraph,
  Frame,
  type Packet,
  type Stream,
} from 'node-av/lib';
import { type DecodedFrames, RefusedMedia } from './measurement.ts';

/** The smallest supported machine has two cores. Keyframes are too few for a second thread. */
const THREADS: Record<DecodedFrames, number> = { all: 2, keyframes: 1 };

interface DecoderOptions {
  codec: Codec;
  maxPixels: number;
  /** The container's stream; null for an image, which has no container. */
  stream: Stream | null;
  /** FFmpeg's `err_detect`: which errors of the bit stream the decoder reports. */
  errorDetection: string;
  /** With `keyframes`, the decoder reads the headers of all packets and decodes keyframes only. */
  frames: DecodedFrames;
}

/** @throws RefusedMedia when the codec rejects its parameters */
export async function openDecoder(options: DecoderOptions) {
  const context = new CodecContext();
  context.allocContext3(options.codec);
  if (options.stream) {
    requireSuccess(context.parametersToContext(options.stream.codecpar));
    context.pktTimebase = options.stream.timeBase;
  }
  context.threadCount = THREADS[options.frames];
  const settings = Dictionary.fromObject({
    err_detect: options.errorDetection,
    max_pixels: options.maxPixels,
    ...(options.frames === 'keyframes' && { skip_frame: 'nokey' }),
  });
  requireSuccess(await context.open2(options.codec, settings));
  const frame = new Frame();
  frame.alloc();
  return {
    codec: options.codec.name ?? 'unknown',
    // Synchronous: the process does nothing else, and a turn of the event loop for each packet and
    // each frame takes longer than decoding a small frame.
    /** Decodes one packet (null: the end of the stream) and calls `onFrame` with each frame. */
    decode(packet: Packet | null, onFrame: (frame: Frame) => void) {
      requireSuccess(context.sendPacketSync(packet));
      while (receive(context, frame)) onFrame(frame);
    },
    [Symbol.dispose]() {
      frame.free();
      context.freeContext();
    },
  };
}

/** False when the decoder needs more input or has no more frames. */
function receive(context: CodecContext, frame: Frame): boolean {
  const code = context.receiveFrameSync(frame);
  if (code === AVERROR_EAGAIN || code === AVERROR_EOF) return false;
  requireSuccess(code);
  // FFmpeg hides a decoding error: it invents the missing part of the frame, or the whole frame.
  const isDamaged = frame.decodeErrorFlags !== 0 || frame.hasFlags(AV_FRAME_FLAG_CORRUPT);
  if (isDamaged) throw new RefusedMedia('undecodable');
  return true;
}

/** @throws RefusedMedia for a negative return code of FFmpeg */
export function requireSuccess(code: number): void {
  if (code >= 0) return;
  throw new RefusedMedia(code === AVERROR_ENOMEM ? 'decode_too_large' : 'undecodable');
}

/** The size as displayed: stretches the width by the sample aspect, then applies the rotation. */
export function displayedSize(frame: Frame, aspect: number): { width: number; height: number } {
  const width = Math.max(1, Math.round(frame.width * aspect));
  const isTurned = quarterTurns(frame) % 2 === 1;
  return isTurned ? { width: frame.height, height: width } : { width, height: frame.height };
}

/**
 * The quarter turns (0 to 3) of a frame, by its display matrix: nine 32-bit numbers, 16.16 fixed
 * point, native byte order (FFmpeg's libavutil/display.h).
 */
function quarterTurns(frame: Frame): number {
  const matrix = frame.getSideData(AV_FRAME_DATA_DISPLAYMATRIX);
  if (!matrix || matrix.length < 36) return 0;
  const [a, b] = [matrix.readInt32LE(0), matrix.readInt32LE(4)];
  return (Math.round(Math.atan2(b, a) / (Math.PI / 2)) + 4) % 4;
}

/** The filters that undo a rotation, by its number of quarter turns. */
const UPRIGHT = [[], ['transpose=clock'], ['hflip', 'vflip'], ['transpose=cclock']];

/** A frame after the `scale` filter, turned upright, in a `format`. The caller frees it. */
export function uprightFrame(frame: Frame, scale: string, format: string): Frame {
  const steps = [
    `buffer@in=video_size=${frame.width}x${frame.height}:pix_fmt=${frame.format}` +
      `:time_base=1/24:colorspace=${frame.colorSpace}:range=${frame.colorRange}`,
    scale,
    ...(UPRIGHT[quarterTurns(frame)] ?? []),
    format,
    'buffersink@out',
  ];
  using graph = new FilterGraph();
  graph.alloc();
  graph.nbThreads = 1; // starting one for each core takes longer than scaling one frame
  requireSuccess(graph.parsePtr(steps.join(',')));
  requireSuccess(graph.configSync());
  const source = graph.getFilter('buffer@in');
  requireSuccess(source?.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF) ?? -1);
  const scaled = new Frame();
  scaled.alloc();
  requireSuccess(graph.getFilter('buffersink@out')?.buffersinkGetFrameSync(scaled) ?? -1);
  return scaled;
}
