import {
  AV_DISPOSITION_ATTACHED_PIC,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants';
import { Codec, type FormatContext, type Frame, type Stream } from 'node-av/lib';
import { RefusedMedia } from '../measurement.ts';
import { DECODERS } from './demuxer.ts';

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

/** The audio track that belongs to the video; null when there is none. */
export function audioStream(input: FormatContext, video: Stream): Stream | null {
  const best = input.findBestStream(AVMEDIA_TYPE_AUDIO, -1, video.index);
  return input.streams.find((stream) => stream.index === best) ?? null;
}

/** @throws RefusedMedia when its decoder may not run */
export function videoCodec(stream: Stream): Codec {
  const codec = Codec.findDecoder(stream.codecpar.codecId);
  if (codec && DECODERS.has(codec.name ?? '')) return codec;
  throw damaged('The codec of the video is not supported.');
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
