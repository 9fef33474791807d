import { type Static, Type } from 'typebox';

const size = { width: Type.Integer({ minimum: 1 }), height: Type.Integer({ minimum: 1 }) };
const closed = { additionalProperties: false };

const ImageFacts = Type.Object(
  {
    kind: Type.Literal('image'),
    mediaType: Type.Union([
      Type.Literal('image/jpeg'),
      Type.Literal('image/png'),
      Type.Literal('image/webp'),
    ]),
    ...size,
  },
  closed,
);

const VideoFacts = Type.Object(
  {
    kind: Type.Literal('video'),
    mediaType: Type.Union([
      Type.Literal('video/mp4'),
      Type.Literal('video/quicktime'),
      Type.Literal('video/webm'),
      Type.Literal('video/x-matroska'),
    ]),
    ...size,
    durationSeconds: Type.Number({ minimum: 0 }),
    frames: Type.Integer({ minimum: 1 }),
    videoCodec: Type.String({ maxLength: 64 }),
    audio: Type.Union([
      Type.Null(),
      Type.Object(
        { codec: Type.String({ maxLength: 64 }), durationSeconds: Type.Number({ minimum: 0 }) },
        closed,
      ),
    ]),
  },
  closed,
);

const Reason = Type.Union([
  Type.Literal('not_an_image'),
  Type.Literal('not_a_video'),
  Type.Literal('undecodable'),
  Type.Literal('too_many_pixels'),
  Type.Literal('too_many_frames'),
  Type.Literal('decode_too_slow'),
  Type.Literal('decode_too_large'),
]);

export const MeasurementSchema = Type.Union([
  Type.Object(
    { kind: Type.Literal('measured'), facts: Type.Union([ImageFacts, VideoFacts]) },
    closed,
  ),
  Type.Object(
    { kind: Type.Literal('refused'), reason: Reason, explanation: Type.String({ maxLength: 500 }) },
    closed,
  ),
]);

/** What a decoder may spend on one file; the child is killed for time and memory. */
export const MediaBoundsSchema = Type.Object({
  imagePixels: Type.Integer(),
  videoPixels: Type.Integer(),
  videoFrames: Type.Integer(),
});

/** What a child is asked; the file itself is its file descriptor 3. */
export const QuestionSchema = Type.Object({
  expected: Type.Union([Type.Literal('image'), Type.Literal('video')]),
  bounds: MediaBoundsSchema,
});

/**
 * What decoding showed. Sizes are as displayed: orientation, and for videos the sample aspect, are
 * applied. A video's `durationSeconds` is unrounded, from the first to the end of the last decoded
 * frame, never from headers. Audio is timed by its packets and not decoded.
 */
export type MediaFacts = Static<typeof ImageFacts> | Static<typeof VideoFacts>;
/** The facts, or why the file is not accepted; `explanation` is one sentence for the public. */
export type Measurement = Static<typeof MeasurementSchema>;
export type MediaBounds = Static<typeof MediaBoundsSchema>;
export type Question = Static<typeof QuestionSchema>;
export type RefusalReason = Static<typeof Reason>;

const EXPLANATIONS: Record<RefusalReason, string> = {
  not_an_image: 'The file is not a still JPEG, PNG or WebP image.',
  not_a_video: 'The file is not an MP4, QuickTime, WebM or Matroska video.',
  undecodable: 'The file is damaged, incomplete or in a coding that cannot be decoded.',
  too_many_pixels: 'The picture has too many pixels.',
  too_many_frames: 'The video has too many frames.',
  decode_too_slow: 'The file took too long to decode.',
  decode_too_large: 'The file needs too much memory to decode.',
};

/** A refusal in public words; `explanation` replaces the reason's usual sentence. */
export function refused(reason: RefusalReason, explanation = EXPLANATIONS[reason]): Measurement {
  return { kind: 'refused', reason, explanation };
}

/** Ends a decode from anywhere inside it; the child turns it into a refusal. */
export class RefusedMedia extends Error {
  readonly reason: RefusalReason;
  readonly explanation: string | undefined;

  constructor(reason: RefusalReason, explanation?: string) {
    super(explanation ?? reason);
    this.reason = reason;
    this.explanation = explanation;
  }
}
