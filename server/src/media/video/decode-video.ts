import { AV_NOPTS_VALUE } from 'node-av/constants';
import type { FormatContext, Frame, Packet, Stream } from 'node-av/lib';
import type { ByteSource } from '../byte-source.ts';
import { displayedSize } from '../decoder.ts';
import {
  type DecodedFrames,
  type MeasureRequest,
  type MediaFacts,
  RefusedMedia,
  StoppedDecode,
  type VideoFacts,
  type VideoRules,
} from '../measurement.ts';
import {
  audioStream,
  closeContainer,
  codecName,
  damaged,
  isCutOff,
  openContainer,
  openVideoDecoder,
  packets,
  sampleAspect,
  seconds,
  videoStream,
} from './demuxer.ts';
import { createFrameHashes } from './frame-hash.ts';
import { matroskaIsWhole, matroskaMediaType } from './matroska.ts';
import { movIsWhole, movMediaType, movRefersOutside } from './mov.ts';
import { createPosterChoice, drawPoster, type PosterChoice } from './poster.ts';
import { createTimeline } from './timeline.ts';

type VideoOptions = Pick<MeasureRequest, 'rules' | 'frames' | 'drawsPoster' | 'hashUse'>;

interface DecodedVideo {
  facts: MediaFacts;
  /** A WebP; null when not wanted, or when it can't be drawn. */
  poster: Buffer | null;
  /** Of frames, in order. */
  hashes: string[];
}

/**
 * Decodes all frames of a video or its keyframes; every packet is read either way. An edit list
 * defines what is shown; other durations in headers are ignored. The file is refused for a single
 * packet or frame that can't be decoded.
 * @throws RefusedMedia; with keyframes only, also for a file that only a full decode can judge
 * @throws StoppedDecode at the first frame that breaks a rule
 */
export async function decodeVideo(
  file: ByteSource,
  container: 'mov' | 'matroska',
  options: VideoOptions,
): Promise<DecodedVideo> {
  const isWhole = container === 'mov' ? movIsWhole(file) : matroskaIsWhole(file);
  if (!isWhole) throw damaged('The video is incomplete: its end is missing.');
  if (container === 'mov' && movRefersOutside(file)) throw new RefusedMedia('external_data');
  const looksAhead = options.frames === 'all';
  const input = await openContainer(file, container, looksAhead);
  const { facts, poster, hashes } = await decodeStreams(input, options);
  await closeContainer(input); // after a refusal, the process decodes no other file
  const mediaType = container === 'mov' ? movMediaType(file) : matroskaMediaType(file);
  const needsOtherFrames = options.drawsPoster && options.frames === 'keyframes' && !poster;
  return {
    facts: { ...facts, mediaType },
    poster: needsOtherFrames ? await drawPoster(file, container) : poster,
    hashes,
  };
}

async function decodeStreams(input: FormatContext, options: VideoOptions) {
  const video = videoStream(input);
  const audio = audioStream(input, video);
  using picture = await createPicture(video, options);
  const audioTimes = audio && createPacketTimes(audio);
  const packetTimes = createPacketTimes(video);
  const checkPacket = options.frames === 'keyframes' ? createPacketCheck() : () => {};
  for await (const packet of packets(input, audio ? [video.index, audio.index] : [video.index])) {
    if (packet.streamIndex !== video.index) audioTimes?.add(packet);
    else {
      packetTimes.add(packet);
      checkPacket(packet);
      if (!picture.isTooLong()) picture.decode(packet);
    }
  }
  if (!picture.isTooLong()) picture.decode(null);
  if (picture.isTooLong()) {
    throw new StoppedDecode({
      rule: 'belowSeconds',
      durationSeconds: packetTimes.durationSeconds(),
    });
  }
  const times = options.frames === 'keyframes' ? packetTimes : picture.shown;
  const facts: Omit<VideoFacts, 'mediaType'> = {
    kind: 'video',
    ...picture.size(),
    durationSeconds: times.durationSeconds(),
    frames: times.frames(),
    videoCodec: codecName(video),
    audio: audio &&
      audioTimes && { codec: codecName(audio), durationSeconds: audioTimes.durationSeconds() },
  };
  return { facts, poster: await picture.poster(), hashes: picture.hashes() };
}

/** Decoders that decode every packet they get, even if only keyframes are wanted. */
const DECODES_ALL: ReadonlySet<string> = new Set(['vp9']);
const POSTER_SECONDS = 2;

async function createPicture(stream: Stream, options: VideoOptions) {
  const { rules, frames, drawsPoster, hashUse } = options;
  const decoder = await openVideoDecoder(stream, frames);
  const shown = createTimeline();
  let choice: PosterChoice | null = drawsPoster ? createPosterChoice(stream) : null;
  const hashes = hashUse && createFrameHashes(hashUse);
  let size: { coded: string; width: number; height: number } | null = null;
  const onFrame = (frame: Frame) => {
    const coded = `${frame.width}x${frame.height}`;
    size ??= { coded, ...displayedSize(frame, sampleAspect(stream, frame)) };
    if (rules?.shortSide) requireShortSide(size, rules.shortSide);
    if (size.coded !== coded) throw damaged('The frame size changes.');
    const shownAt = seconds(frame.bestEffortTimestamp, stream.timeBase);
    shown.add(shownAt, seconds(frame.duration, stream.timeBase));
    hashes?.offer(frame, shown.spanSeconds());
    if (choice && !tryOffer(choice, frame, shown.spanSeconds())) {
      choice[Symbol.dispose]();
      choice = null;
    }
  };
  const isDecoded = (packet: Packet | null) =>
    frames === 'all' || !DECODES_ALL.has(decoder.codec) || packet === null || packet.isKeyframe;
  return {
    decode(packet: Packet | null) {
      if (isDecoded(packet)) decoder.decode(packet, onFrame);
    },
    [Symbol.dispose]() {
      choice?.[Symbol.dispose]();
      decoder[Symbol.dispose]();
    },
    /** Whether the frames so far already span too long a time. */
    isTooLong: () => rules !== null && shown.spanSeconds() >= rules.belowSeconds,
    size() {
      if (!size) throw damaged('No frame of the video can be decoded.');
      return { width: size.width, height: size.height };
    },
    shown,
    poster: () => posterOf(choice, frames),
    hashes: () => [...(hashes?.hashes ?? [])],
  };
}

/** @returns false when this frame can't be a poster; that is no reason to refuse the video */
function tryOffer(choice: PosterChoice, frame: Frame, atSeconds: number): boolean {
  try {
    if (atSeconds <= POSTER_SECONDS) choice.offer(frame);
    return true;
  } catch {
    return false;
  }
}

/** Keyframes alone that show a plain area give no poster: a frame after them may be better. */
async function posterOf(
  choice: PosterChoice | null,
  frames: DecodedFrames,
): Promise<Buffer | null> {
  try {
    return choice && (frames === 'all' || choice.isGood()) ? await choice.picture() : null;
  } catch {
    return null;
  }
}

function createPacketTimes(stream: Stream) {
  const timeline = createTimeline();
  return {
    ...timeline,
    add(packet: Packet) {
      if (isCutOff(packet)) return;
      timeline.add(seconds(packet.pts, stream.timeBase), seconds(packet.duration, stream.timeBase));
    },
  };
}

function requireShortSide(
  { width, height }: { width: number; height: number },
  { min, max }: NonNullable<VideoRules['shortSide']>,
) {
  const side = Math.min(width, height);
  if (side >= min && side <= max) return;
  throw new StoppedDecode({ rule: 'shortSide', width, height });
}

/**
 * Unwritten parts of a file read as zeros. H.264 and HEVC forbid more than two zero bytes in a row
 * in a NAL unit, and entropy-coded data of other codecs has no such run by chance.
 */
const HOLE = Buffer.alloc(16);

/** Returns a check that throws if a packet may be damaged: then all frames are decoded. */
function createPacketCheck(): (packet: Packet) => void {
  let isFirst = true;
  return (packet) => {
    if (isFirst && !packet.isKeyframe) throw damaged('The video does not begin with a keyframe.');
    isFirst = false;
    if (packet.pts === AV_NOPTS_VALUE) throw damaged('A packet of the video has no time.');
    if (packet.data?.includes(HOLE)) throw damaged('A part of the video is empty.');
  };
}
