/** The program of the child processes that measure files, one after the other. */
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { serveParent } from '../kernel/child.ts';
import { type ByteSource, openByteSource } from './byte-source.ts';
import { decodeImage } from './image/decode-image.ts';
import {
  type MeasureRequest,
  RefusedMedia,
  StoppedDecode,
  type VideoRules,
} from './measurement.ts';
import { SNIFF_BYTES, sniff } from './sniff.ts';
import { decodeVideo } from './video/decode-video.ts';

Log.setLevel(AV_LOG_QUIET);
await serveParent(async (input) => {
  const request = readRequest(input);
  using file = openByteSource(request.path);
  try {
    const { facts, poster } = await decode(file, request);
    return { kind: 'measured', facts, ...(poster && { poster: poster.toString('base64') }) };
  } catch (error) {
    if (error instanceof RefusedMedia || error instanceof StoppedDecode) return error.measurement;
    throw error;
  }
});

async function decode(file: ByteSource, request: MeasureRequest) {
  const { expected, bounds, ...options } = request;
  const sniffed = sniff(file.read(0, SNIFF_BYTES));
  if (sniffed?.kind !== expected) {
    throw new RefusedMedia(expected === 'image' ? 'not_an_image' : 'not_a_video');
  }
  if (sniffed.kind === 'video') {
    return decodeVideo(file, sniffed.container, { maxPixels: bounds.videoPixels, ...options });
  }
  const facts = await decodeImage(file, sniffed.mediaType, bounds.imagePixels);
  return { facts, poster: null };
}

/** Throws for an input that is not a request. The parent is our own code, so this is a bug. */
function readRequest(input: unknown): MeasureRequest {
  const { path, expected, bounds, rules, frames, posterSide } = Object(input);
  if (expected !== 'image' && expected !== 'video')
    throw new TypeError(`unknown kind of media: ${expected}`);
  return {
    path: String(path),
    expected,
    bounds: {
      imagePixels: aboveZero(bounds?.imagePixels),
      videoPixels: aboveZero(bounds?.videoPixels),
    },
    rules: readRules(rules),
    frames: frames === 'keyframes' ? frames : 'all',
    posterSide: posterSide === null ? null : aboveZero(posterSide),
  };
}

function readRules(rules: unknown): VideoRules | null {
  if (rules === null) return null;
  const { shortSide, belowSeconds } = Object(rules);
  const [min, max] = [aboveZero(shortSide?.min), aboveZero(shortSide?.max)];
  return { shortSide: { min, max }, belowSeconds: aboveZero(belowSeconds) };
}

function aboveZero(bound: unknown): number {
  if (Number(bound) > 0) return Number(bound);
  throw new TypeError(`a bound must be above zero: ${bound}`);
}
