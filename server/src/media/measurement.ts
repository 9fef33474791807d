/** Sizes are as displayed: the orientation is applied, for videos also the sample aspect. */
export type MediaFacts = ImageFacts | VideoFacts;

interface ImageFacts {
  kind: 'image';
  mediaType: 'image/jpeg' | 'image/png' | 'image/webp';
  width: number;
  height: number;
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
  | 'too_many_pixels'
  | 'too_many_frames'
  | 'decode_too_slow'
  | 'decode_too_large';

/** The facts, or why the file is refused. `explanation` is one sentence for clients. */
export type Measurement =
  | { kind: 'measured'; facts: MediaFacts }
  | { kind: 'refused'; reason: RefusalReason; explanation: string };

/** Larger media are refused. Time and memory have limits too, at which the process is killed. */
export interface MediaBounds {
  imagePixels: number;
  videoPixels: number;
  videoFrames: number;
}

/** The input of a child process; the file itself is its file descriptor 3. */
export interface MeasureRequest {
  expected: 'image' | 'video';
  bounds: MediaBounds;
}

const EXPLANATIONS: Record<RefusalReason, string> = {
  not_an_image: 'The file is not a still JPEG, PNG or WebP image.',
  not_a_video: 'The file is not an MP4, QuickTime, WebM or Matroska video.',
  undecodable: 'The file is damaged, incomplete or uses a codec that cannot be decoded.',
  too_many_pixels: 'The picture has too many pixels.',
  too_many_frames: 'The video has too many frames.',
  decode_too_slow: 'The file took too long to decode.',
  decode_too_large: 'The file needs too much memory to decode.',
};

/** A refusal. `explanation` replaces the reason's usual sentence. */
export function refused(reason: RefusalReason, explanation = EXPLANATIONS[reason]): Measurement {
  return { kind: 'refused', reason, explanation };
}

/** Thrown anywhere while a file is decoded; the child process returns it as a refusal. */
export class RefusedMedia extends Error {
  readonly reason: RefusalReason;
  readonly explanation: string | undefined;

  constructor(reason: RefusalReason, explanation?: string) {
    super(explanation ?? reason);
    this.reason = reason;
    this.explanation = explanation;
  }
}
