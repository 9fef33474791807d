/** Sizes are as displayed: the orientation is applied, for videos also the sample aspect. */
export type MediaFacts = ImageFacts | VideoFacts;

/** An image with more {@link ImageFacts.flaws} is refused. */
export const MAX_FLAWS = 1000;

/** Bytes of a file: from the first one up to `to`, which is not part of it. */
export interface FilePart {
  from: number;
  to: number;
}

interface ImageFacts {
  kind: 'image';
  mediaType: 'image/jpeg' | 'image/png' | 'image/webp';
  width: number;
  height: number;
  /**
   * Parts beside the pixels at which other programs may fail, in order; absent if there are none.
   * The image is the same without them.
   */
  flaws?: FilePart[];
}

export interface VideoFacts {
  kind: 'video';
  mediaType: 'video/mp4' | 'video/quicktime' | 'video/webm' | 'video/x-matroska';
  width: number;
  height: number;
  /** Not rounded. From the first decoded frame to the end of the last one, never from headers. */
  durationSeconds: number;
  frames: number;
  videoCodec: string;
  /** The audio is not decoded; its duration comes from its packets. */
  audio: null | { codec: string; durationSeconds: number };
}

export type RefusalReason =
  | 'not_an_image'
  | 'not_a_video'
  | 'undecodable'
  | 'external_data'
  | 'too_many_pixels'
  | 'decode_too_slow'
  | 'decode_too_large';

/** What the caller accepts of a video. Decoding ends at the first frame that breaks a rule. */
export interface VideoRules {
  /** The shorter displayed side, in pixels. */
  shortSide: { min: number; max: number };
  /** The video must be shorter than this. */
  belowSeconds: number;
}

/** Which of the caller's rules a video broke. */
export type BrokenRule =
  | { rule: 'shortSide'; width: number; height: number }
  /** After the first frame past the bound, the duration comes from the packets' timestamps. */
  | { rule: 'belowSeconds'; durationSeconds: number };

/**
 * The facts, with a WebP if a poster was wanted and could be drawn; or which of the caller's rules
 * ended the decoding; or why the file is refused.
 * `explanation` is one sentence for clients, `limit` the bound that it names.
 */
export type Measurement =
  | { kind: 'measured'; facts: MediaFacts; poster?: Buffer }
  | { kind: 'stopped'; broken: BrokenRule }
  | { kind: 'refused'; reason: RefusalReason; explanation: string; limit?: number };

/** Larger media are refused. Time and memory have limits too, at which the process is killed. */
export interface MediaBounds {
  imagePixels: number;
  videoPixels: number;
}

/**
 * Which frames of a video are decoded. With `keyframes`, its duration and the number of its frames
 * come from its packets.
 */
export type DecodedFrames = 'all' | 'keyframes';

/** The input of a child process. */
export interface MeasureRequest {
  path: string;
  expected: 'image' | 'video';
  bounds: MediaBounds;
  rules: VideoRules | null;
  frames: DecodedFrames;
  /** The longer side of a poster of the video, in pixels; null when none is wanted. */
  posterSide: number | null;
}

const EXPLANATIONS: Record<RefusalReason, string> = {
  not_an_image: 'The file is not a still JPEG, PNG or WebP image.',
  not_a_video: 'The file is not an MP4, QuickTime, WebM or Matroska video.',
  undecodable: 'The file is damaged, incomplete or uses a codec that cannot be decoded.',
  external_data: 'The file refers to data outside of it. Send a file that contains all its data.',
  too_many_pixels: 'The picture has too many pixels.',
  decode_too_slow: 'The file took too long to decode.',
  decode_too_large: 'The file needs too much memory to decode.',
};

/** Replaces the reason's usual sentence, and names the bound that was exceeded. */
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
export function requirePixels(size: { width: number; height: number }, limit: number): void {
  const { width, height } = size;
  if (width * height <= limit) return;
  const explanation = `The picture has ${width} x ${height} pixels; at most ${limit} are accepted.`;
  throw new RefusedMedia('too_many_pixels', { explanation, limit });
}

/** Thrown at the first frame of a video that breaks a rule of the caller. */
export class StoppedDecode extends Error {
  readonly measurement: Measurement;

  constructor(broken: BrokenRule) {
    super(broken.rule);
    this.measurement = { kind: 'stopped', broken };
  }
}
