import {
  AV_DISPOSITION_ATTACHED_PIC,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants';
import { Codec, type FormatContext, type Frame, type Packet, type Stream } from 'node-av/lib';
import type { ByteSource } from './byte-source.ts';
import { displayedSize, openDecoder } from './decoder.ts';
import { closeContainer, DECODERS, isCutOff, openContainer, packets, seconds } from './demuxer.ts';
import { matroskaIsWhole, matroskaMediaType } from './matroska.ts';
import {
  type MediaFacts,
  RefusedMedia,
  requirePixels,
  StoppedDecode,
  type VideoFacts,
  type VideoRules,
} from './measurement.ts';
import { movIsWhole, movMediaType } from './mov.ts';
import { movRefersOutside } from './mov-references.ts';
import { createTimeline, type Timeline } from './timeline.ts';

interface VideoOptions {
  maxPixels: number;
  /** null when the caller accepts every size and duration. */
  rules: VideoRules | null;
}

/**
 * Decodes every frame of one video. An edit list is applied, because it defines what is shown;
 * other durations in headers are ignored. The file is refused if a single packet or frame can't be
 * decoded. Decoding ends at the first frame that breaks a rule of the caller.
 * @throws RefusedMedia
 * @throws StoppedDecode when a rule is broken
 */
export async function decodeVideo(
  file: ByteSource,
  container: 'mov' | 'matroska',
  { maxPixels, rules }: VideoOptions,
): Promise<MediaFacts> {
  const isWhole = container === 'mov' ? movIsWhole(file) : matroskaIsWhole(file);
  if (!isWhole) throw damaged('The video is incomplete: its end is missing.');
  if (container === 'mov' && movRefersOutside(file)) throw new RefusedMedia('external_data');
  const input = await openContainer(file, container, maxPixels);
  const facts = await decodeStreams(input, { maxPixels, rules });
  await closeContainer(input); // after a refusal, the process decodes no other file
  const mediaType = container === 'mov' ? movMediaType(file) : matroskaMediaType(file);
  return { ...facts, mediaType };
}

async function decodeStreams(
  input: FormatContext,
  { maxPixels, rules }: VideoOptions,
): Promise<Omit<VideoFacts, 'mediaType'>> {
  const video = videoStream(input);
  const audio = audioStream(input, video);
  using picture = await createPicture(video, { maxPixels, rules });
  const sound = audio && createPacketTimes(audio);
  const all = createPacketTimes(video);
  for await (const packet of packets(input, audio ? [video.index, audio.index] : [video.index])) {
    if (packet.streamIndex !== video.index) sound?.add(packet);
    else {
      all.add(packet);
      if (!picture.isTooLong()) picture.decode(packet);
    }
  }
  if (!picture.isTooLong()) picture.decode(null);
  if (picture.isTooLong()) {
    throw new StoppedDecode({ rule: 'belowSeconds', durationSeconds: all.durationSeconds() });
  }
  const heard = audio &&
    sound && { codec: codecName(audio), durationSeconds: sound.durationSeconds() };
  return { kind: 'video', ...picture.facts(), audio: heard };
}

/**
 * The stream that a player would choose; a cover picture is not a video.
 * @throws RefusedMedia when there is none
 */
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

function audioStream(input: FormatContext, video: Stream): Stream | null {
  const best = input.findBestStream(AVMEDIA_TYPE_AUDIO, -1, video.index);
  return input.streams.find((stream) => stream.index === best) ?? null;
}

async function createPicture(stream: Stream, { maxPixels, rules }: VideoOptions) {
  requirePixels(stream.codecpar, maxPixels);
  const decoder = await openDecoder({
    codec: videoCodec(stream),
    stream,
    maxPixels,
    errorDetection: 'crccheck',
  });
  const timeline = createTimeline();
  let frames = 0;
  let size: { coded: string; width: number; height: number } | null = null;
  const onFrame = (frame: Frame) => {
    frames += 1;
    const coded = `${frame.width}x${frame.height}`;
    size ??= { coded, ...displayedSize(frame, sampleAspect(stream, frame)) };
    if (rules) requireShortSide(size, rules);
    if (size.coded !== coded) throw damaged('The frame size changes.');
    addFrame(timeline, stream, frame);
  };
  return {
    decode: (packet: Packet | null) => decoder.decode(packet, onFrame),
    /** The frames so far are as far apart as the whole video may not last. */
    [Symbol.dispose]: () => decoder[Symbol.dispose](),
    isTooLong: () => rules !== null && timeline.spanSeconds() >= rules.belowSeconds,
    facts() {
      if (!size) throw damaged('No frame of the video can be decoded.');
      const { width, height } = size;
      const durationSeconds = timeline.durationSeconds();
      return { width, height, durationSeconds, frames, videoCodec: codecName(stream) };
    },
  };
}

/** @throws RefusedMedia when its decoder may not run */
export function videoCodec(stream: Stream): Codec {
  const codec = Codec.findDecoder(stream.codecpar.codecId);
  if (codec && DECODERS.has(codec.name ?? '')) return codec;
  throw damaged('The codec of the video is not supported.');
}

function addFrame(timeline: Timeline, stream: Stream, frame: Frame): void {
  const shownAt = seconds(frame.bestEffortTimestamp, stream.timeBase);
  timeline.add(shownAt, seconds(frame.duration, stream.timeBase) ?? 0);
}

/** Prefers the container's ratio to the codec's, as in FFmpeg's av_guess_sample_aspect_ratio. */
export function sampleAspect(stream: Stream, frame: Frame): number {
  const ratios = [stream.sampleAspectRatio, frame.sampleAspectRatio];
  const known = ratios.find(({ num, den }) => num > 0 && den > 0);
  return known ? known.num / known.den : 1;
}

/** The duration of a stream by the timestamps of its packets, without decoding. */
function createPacketTimes(stream: Stream) {
  const timeline = createTimeline();
  return {
    add(packet: Packet) {
      if (isCutOff(packet)) return;
      const duration = seconds(packet.duration, stream.timeBase) ?? 0;
      timeline.add(seconds(packet.pts, stream.timeBase), duration);
    },
    durationSeconds: () => timeline.durationSeconds(),
  };
}

function requireShortSide(size: { width: number; height: number }, { shortSide }: VideoRules) {
  const { width, height } = size;
  const side = Math.min(width, height);
  if (side >= shortSide.min && side <= shortSide.max) return;
  throw new StoppedDecode({ rule: 'shortSide', width, height });
}

function damaged(explanation: string): RefusedMedia {
  return new RefusedMedia('undecodable', { explanation });
}

function codecName(stream: Stream): string {
  return Codec.findDecoder(stream.codecpar.codecId)?.name ?? `codec ${stream.codecpar.codecId}`;
}
