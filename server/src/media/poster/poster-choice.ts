import {
  AV_FRAME_DATA_DISPLAYMATRIX,
  AV_PIX_FMT_YUV420P,
  AVERROR_EAGAIN,
  FF_ENCODER_LIBWEBP,
} from 'node-av/constants';
import {
  Codec,
  CodecContext,
  Dictionary,
  FilterGraph,
  Frame,
  Packet,
  Rational,
  type Stream,
} from 'node-av/lib';
import { requireSuccess } from '../decoder.ts';
import { RefusedMedia } from '../measurement.ts';
import { sampleAspect } from '../video/demuxer.ts';

/** Later frames are ignored: two seconds, at 24 frames a second. */
const MAX_FRAMES = 48;
/** The least standard deviation of the brightness (0 to 255) of a frame that shows something. */
const MIN_DEVIATION = 12;

export interface PosterChoice extends Disposable {
  /** @throws RefusedMedia when the frame can't be scaled */
  offer(frame: Frame): void;
  /** Whether the best frame so far is not a plain area, which ends the search. */
  isGood(): boolean;
  isMade(): boolean;
  /** The chosen frame as a small WebP. @throws RefusedMedia when no frame was offered */
  picture(): Promise<Buffer>;
}

/** Keeps the least plain of the offered frames, each scaled first, until one is good enough. */
export function createPosterChoice(options: { stream: Stream; maxSide: number }): PosterChoice {
  let best: { frame: Frame; deviation: number } | undefined;
  let offered = 0;
  const isGood = () => (best?.deviation ?? 0) >= MIN_DEVIATION;
  const isMade = () => offered >= MAX_FRAMES || isGood();
  return {
    isGood,
    isMade,
    offer(frame) {
      if (isMade()) return;
      offered += 1;
      const small = scale(frame, options);
      const deviation = brightnessDeviation(small);
      if (best && best.deviation >= deviation) small.free();
      else {
        best?.frame.free();
        best = { frame: small, deviation };
      }
    },
    async picture() {
      if (!best) throw new RefusedMedia('undecodable');
      return encodeWebp(best.frame);
    },
    [Symbol.dispose]: () => best?.frame.free(),
  };
}

/** The standard deviation of the brightness. Getters call into FFmpeg's binding. */
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

/** A frame as it is displayed, upright, as large as `maxSide` allows. The caller frees it. */
function scale(frame: Frame, { stream, maxSide }: { stream: Stream; maxSide: number }): Frame {
  const displayedWidth = frame.width * sampleAspect(stream, frame);
  const factor = Math.min(1, maxSide / Math.max(displayedWidth, frame.height));
  const [width, height] = [displayedWidth, frame.height].map((side) => even(side * factor));
  const steps = [
    `buffer@in=video_size=${frame.width}x${frame.height}:pix_fmt=${frame.format}` +
      `:time_base=1/24:colorspace=${frame.colorSpace}:range=${frame.colorRange}`,
    `scale=${width}:${height}:${COLOURS}`,
    ...uprightFilters(frame.getSideData(AV_FRAME_DATA_DISPLAYMATRIX)),
    'format=yuv420p,setsar=1,buffersink@out',
  ];
  using graph = new FilterGraph();
  graph.alloc();
  graph.nbThreads = 1; // starting one for each core takes longer than scaling one frame
  requireSuccess(graph.parsePtr(steps.join(',')));
  requireSuccess(graph.configSync());
  requireSuccess(graph.getFilter('buffer@in')?.buffersrcAddFrameSync(frame) ?? -1);
  const scaled = new Frame();
  scaled.alloc();
  requireSuccess(graph.getFilter('buffersink@out')?.buffersinkGetFrameSync(scaled) ?? -1);
  return scaled;
}

/** Pictures in yuv420p have even sides. */
function even(side: number): number {
  return Math.max(2, 2 * Math.round(side / 2));
}

const UPRIGHT = [[], ['transpose=clock'], ['hflip', 'vflip'], ['transpose=cclock']];

/** The filters that undo a turn by a display matrix (FFmpeg's libavutil/display.h). */
function uprightFilters(matrix: Buffer | null): string[] {
  if (!matrix || matrix.length < 36) return [];
  const [a, b] = [matrix.readInt32LE(0), matrix.readInt32LE(4)];
  const turns = Math.round(Math.atan2(b, a) / (Math.PI / 2));
  return UPRIGHT[(turns + 4) % 4] ?? [];
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
