import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { MAX_FLAWS } from './image/layout.ts';
import { sniff } from './sniff.ts';
import { MAX_HASHES } from './video/timeline.ts';

const closed = { additionalProperties: false };
const size = { width: Type.Integer({ minimum: 1 }), height: Type.Integer({ minimum: 1 }) };
const codec = Type.String({ maxLength: 64 });
const durationSeconds = Type.Number({ minimum: 0 });

const FilePart = Type.Object(
  { from: Type.Integer({ minimum: 0 }), to: Type.Integer({ minimum: 0 }) },
  closed,
);

const ImageFacts = Type.Object(
  {
    kind: Type.Literal('image'),
    mediaType: Type.Enum(['image/jpeg', 'image/png', 'image/webp']),
    ...size,
    /** Parts beside the pixels at which other programs may fail, in order, if any. */
    flaws: Type.Optional(Type.Array(FilePart, { maxItems: MAX_FLAWS })),
  },
  closed,
);

const VideoFacts = Type.Object(
  {
    kind: Type.Literal('video'),
    mediaType: Type.Enum(['video/mp4', 'video/quicktime', 'video/webm', 'video/x-matroska']),
    ...size,
    /** Not rounded. From the first decoded frame to the end of the last one, never from headers. */
    durationSeconds,
    frames: Type.Integer({ minimum: 1 }),
    videoCodec: codec,
    /** The audio is not decoded; its duration comes from its packets. */
    audio: Type.Union([Type.Null(), Type.Object({ codec, durationSeconds }, closed)]),
  },
  closed,
);

/**
 * The facts, with a WebP in base64 if a poster was wanted and could be drawn, and hashes of frames
 * if they were wanted.
 */
const Measured = Type.Object(
  {
    kind: Type.Literal('measured'),
    facts: Type.Union([ImageFacts, VideoFacts]),
    poster: Type.Optional(Type.String()),
    hashes: Type.Optional(
      Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' }), { maxItems: MAX_HASHES }),
    ),
  },
  closed,
);

/** Which of the caller's rules ended the decoding of a video. */
const Stopped = Type.Object(
  {
    kind: Type.Literal('stopped'),
    broken: Type.Union([
      Type.Object({ rule: Type.Literal('shortSide'), ...size }, closed),
      /** After the first frame past the bound, the duration comes from the packets' timestamps. */
      Type.Object({ rule: Type.Literal('belowSeconds'), durationSeconds }, closed),
    ]),
  },
  closed,
);

const REFUSAL_REASONS = [
  'not_an_image',
  'not_a_video',
  'undecodable',
  'external_data',
  'too_many_pixels',
  'decode_too_slow',
  'decode_too_large',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** `explanation` is one sentence for clients, `limit` the bound that it names. */
const Refused = Type.Object(
  {
    kind: Type.Literal('refused'),
    reason: Type.Enum(REFUSAL_REASONS),
    explanation: Type.String({ maxLength: 500 }),
    limit: Type.Optional(Type.Number({ minimum: 0 })),
  },
  closed,
);

const Result = Type.Union([Measured, Stopped, Refused]);

/** Sizes are as displayed: the orientation is applied, for videos also the sample aspect. */
export type MediaFacts = Static<typeof Measured>['facts'];
export type VideoFacts = Extract<MediaFacts, { kind: 'video' }>;
export type BrokenRule = Static<typeof Stopped>['broken'];
export type Measurement =
  | { kind: 'measured'; facts: MediaFacts; poster?: Buffer; hashes?: string[] }
  | Static<typeof Stopped>
  | Static<typeof Refused>;

/**
 * Checks the result of a child process, which had hostile bytes in its memory, and leaves out a
 * poster that is not a WebP. Only the parent loads this file: the schema library takes longer to
 * load than a small video takes to decode. @throws when the result is not a measurement
 */
export function parseMeasurement(result: unknown): Measurement {
  const parsed = Value.Parse(Result, result);
  if (parsed.kind !== 'measured') return parsed;
  const { poster: text, ...measured } = parsed;
  const poster = text === undefined ? undefined : webpOf(text);
  return { ...measured, ...(poster && { poster }) };
}

/** The WebP that a child returned as base64; undefined if it is something else. */
function webpOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  const sniffed = sniff(bytes);
  const isWebp = sniffed?.kind === 'image' && sniffed.mediaType === 'image/webp';
  return isWebp ? bytes : undefined;
}
