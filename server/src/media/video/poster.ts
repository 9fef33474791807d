import { AV_PIX_FMT_YUV420P, AVERROR_EAGAIN, FF_ENCODER_LIBWEBP } from 'node-av/constants';
import {
  Codec,
  CodecContext,
  Dictionary,
  type FormatContext,
  type Frame,
  Packet,
  Rational,
  type Stream,
} from 'node-av/lib';
import type { ByteSource } from '../byte-source.ts';
import { requireSuccess, uprightFrame } from '../decoder.ts';
import { RefusedMedia } from '../measurement.ts';
import {
  closeContainer,
  openContainer,
  openVideoDecoder,
  packets,
  sampleAspect,
  videoStream,
} from './demuxer.ts';

/** The longer side in pixels; a smaller video is not enlarged. */
const MAX_SIDE = 640;

/** Later frames are ignored: two seconds, at 24 frames a second. */
const MAX_FRAMES = 48;
/** The least standard deviation of the brightness (0 to 255) of a frame that shows something. */
const MIN_DEVIATION = 12;

export type PosterChoice = ReturnType<typeof createPosterChoice>;

/** Keeps the least plain of the offered frames, each scaled first, until one is good enough. */
export function createPosterChoice(stream: Stream) {
  let best: { frame: Frame; deviation: number } | undefined;
  let offered = 0;
  /** Whether the best frame so far is not a plain area, which ends the search. */
  const isGood = () => (best?.deviation ?? 0) >= MIN_DEVIATION;
  const isDone = () => offered >= MAX_FRAMES || isGood();
  return {
    isGood,
    isDone,
    /** @throws RefusedMedia when the frame can't be scaled */
    offer(frame: Frame) {
      if (isDone()) return;
      offered += 1;
      const small = scale(frame, stream);
      const deviation = brightnessDeviation(small);
      if (best && best.deviation >= deviation) small.free();
      else {
        best?.frame.free();
        best = { frame: small, deviation };
      }
    },
    /** The chosen frame as a small WebP. @throws RefusedMedia when no frame was offered */
    async picture() {
      if (!best) throw new RefusedMedia('undecodable');
      return encodeWebp(best.frame);
    },
    [Symbol.dispose]: () => best?.frame.free(),
  };
}

/**
 * Draws the first frame that is not a plain area, else the least plain one of the first two
 * seconds. Null if it can't be drawn: that is no reason to refuse the video.
 */
export async function drawPoster(file: ByteSource, container: 'mov' | 'matroska') {
  try {
    const input = await openContainer(file, container, true);
    const picture = await choosePoster(input);
    await closeContainer(input);
    return picture;
  } catch {
    return null;
  }
}

async function choosePoster(input: FormatContext): Promise<Buffer> {
  const stream = videoStream(input);
  using decoder = await openVideoDecoder(stream, 'all');
  using choice = createPosterChoice(stream);
  for await (const packet of packets(input, [stream.index])) {
    decoder.decode(packet, choice.offer);
    if (choice.isDone()) break;
  }
  if (!choice.isDone()) decoder.decode(null, choice.offer);
  return await choice.picture();
}

/** The standard deviation of the brightness. Getters are slow, so they stay out of the loop. */
function brightnessDeviation(frame: Frame): number {
  const { width, height } = frame;
  const [plane] = frame.data ?? [];
  const stride = frame.linesize[0] ?? 0;
  let [sum, squares] = [0, 0];
  for (let y = 0; y < height; y += 1) {
    for (let at = y * stride; at < y * stride + width; at += 1) {
      const value = plane?.[at] ?? 0;
      sum += value;
      squares += value * value;
    }
  }
  const pixels = width * height;
  return Math.sqrt(Math.max(0, squares / pixels - (sum / pixels) ** 2));
}

/** WebP viewers assume BT.601. */
const COLOURS = 'out_color_matrix=bt601:out_range=tv';

/** A frame as it is displayed, as large as a poster may be. The caller frees it. */
function scale(frame: Frame, stream: Stream): Frame {
  const displayedWidth = frame.width * sampleAspect(stream, frame);
  const factor = Math.min(1, MAX_SIDE / Math.max(displayedWidth, frame.height));
  const [width, height] = [displayedWidth, frame.height].map((side) => even(side * factor));
  return uprightFrame(frame, `scale=${width}:${height}:${COLOURS}`, 'format=yuv420p,setsar=1');
}

/** Pictures in yuv420p have even sides. */
function even(side: number): number {
  return Math.max(2, 2 * Math.round(side / 2));
}

/**
 * `quality` is out of 100. Level 2 takes half the time of the usual 4, and the same number of
 * bytes.
 */
const WEBP = { quality: '72', compression_level: '2' };

async function encodeWebp(frame: Frame): Promise<Buffer> {
  const codec = Codec.findEncoderByName(FF_ENCODER_LIBWEBP);
  if (!codec) throw new Error('there is no encoder for WebP');
  using context = new CodecContext();
  context.allocContext3(codec);
  context.width = frame.width;
  context.height = frame.height;
  context.pixelFormat = AV_PIX_FMT_YUV420P;
  context.timeBase = new Rational(1, 24);
  // Not open2Sync: it frees the options, which are freed again with their object.
  requireSuccess(await context.open2(codec, Dictionary.fromObject(WEBP)));
  frame.pts = 0n;
  requireSuccess(context.sendFrameSync(frame));
  requireSuccess(context.sendFrameSync(null));
  using packet = new Packet();
  packet.alloc();
  const code = context.receivePacketSync(packet);
  if (code === AVERROR_EAGAIN || !packet.data) throw new Error('the encoder made no picture');
  requireSuccess(code);
  return Buffer.from(packet.data);
}
