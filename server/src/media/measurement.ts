import type { BrokenRule, Measurement, RefusalReason } from './parse-measurement.ts';
import type { HashUse } from './video/timeline.ts';

export type { BrokenRule, Measurement, MediaFacts, VideoFacts } from './parse-measurement.ts';

/** What the caller accepts of a video. Decoding ends at the first frame that breaks a rule. */
export interface VideoRules {
  /** The shorter displayed side, in pixels. */
  shortSide?: { min: number; max: number };
  belowSeconds: number;
}

export const PIXEL_BOUNDS = {
  imagePixels: 64_000_000,
  /** The largest output, 4398 x 1886 padded to whole blocks, has fewer pixels. */
  videoPixels: 4096 * 2304,
};

/** Frames to decode; with `keyframes`, duration and count come from the packets. */
export type DecodedFrames = 'all' | 'keyframes';

export interface MeasureRequest {
  path: string;
  expected: 'image' | 'video';
  rules: VideoRules | null;
  frames: DecodedFrames;
  drawsPoster: boolean;
  /** Hashes decoded frames that are not plain (of one colour); null: none. */
  hashUse: HashUse | null;
}

/** One sentence each, for clients. */
const EXPLANATIONS: Record<RefusalReason, string> = {
  not_an_image: 'The file is not a still JPEG, PNG or WebP image.',
  not_a_video: 'The file is not an MP4, QuickTime, WebM or Matroska video.',
  undecodable: 'The file is damaged, incomplete or uses a codec that cannot be decoded.',
  external_data: 'The file refers to data outside of it. Send a file that contains all its data.',
  too_many_pixels: 'The picture has too many pixels.',
  decode_too_slow: 'The file took too long to decode.',
  decode_too_large: 'The file needs too much memory to decode.',
};

/** `explanation` replaces the reason's usual sentence; `limit` is the bound that was exceeded. */
interface RefusalDetails {
  explanation?: string;
  limit?: number;
}

export function refused(reason: RefusalReason, details: RefusalDetails = {}): Measurement {
  return { kind: 'refused', reason, explanation: EXPLANATIONS[reason], ...details };
}

/** Thrown anywhere while a file is decoded; the child process returns it as a refusal. */
export class RefusedMedia extends Error {
  readonly measurement: Measurement;

  constructor(reason: RefusalReason, details?: RefusalDetails) {
    super(details?.explanation ?? reason);
    this.measurement = refused(reason, details);
  }
}

/** @throws RefusedMedia when a picture has more pixels than `limit` */
export function limitPixels(size: { width: number; height: number }, limit: number): void {
  const { width, height } = size;
  if (width * height <= limit) return;
  const explanation = `The picture has ${width} x ${height} pixels; at most ${limit} are accepted.`;
  throw new RefusedMedia('too_many_pixels', { explanation, limit });
}

/** Thrown at the first frame that breaks one of the caller's rules: the rest is not decoded. */
export class StoppedDecode extends Error {
  readonly measurement: Measurement;

  constructor(broken: BrokenRule) {
    super(broken.rule);
    this.measurement = { kind: 'stopped', broken };
  }
}
