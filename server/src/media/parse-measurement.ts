import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { MAX_FLAWS, type Measurement } from './measurement.ts';
import { sniff } from './sniff.ts';

const size = { width: Type.Integer({ minimum: 1 }), height: Type.Integer({ minimum: 1 }) };
const name = Type.String({ maxLength: 64 });
const seconds = Type.Number({ minimum: 0 });
const closed = { additionalProperties: false };
const offset = Type.Integer({ minimum: 0 });
const Range = Type.Object({ from: offset, to: offset }, closed);

const Image = Type.Object(
  {
    kind: Type.Literal('image'),
    mediaType: Type.Enum(['image/jpeg', 'image/png', 'image/webp']),
    ...size,
    flaws: Type.Optional(Type.Array(Range, { maxItems: MAX_FLAWS })),
  },
  closed,
);
const Video = Type.Object(
  {
    kind: Type.Literal('video'),
    mediaType: Type.Enum(['video/mp4', 'video/quicktime', 'video/webm', 'video/x-matroska']),
    ...size,
    durationSeconds: seconds,
    frames: Type.Integer({ minimum: 1 }),
    videoCodec: name,
    audio: Type.Union([
      Type.Null(),
      Type.Object({ codec: name, durationSeconds: seconds }, closed),
    ]),
  },
  closed,
);
const Measured = Type.Object(
  {
    kind: Type.Literal('measured'),
    facts: Type.Union([Image, Video]),
    poster: Type.Optional(Type.String()),
  },
  closed,
);
const Refused = Type.Object(
  {
    kind: Type.Literal('refused'),
    reason: Type.Enum([
      'not_an_image',
      'not_a_video',
      'undecodable',
      'external_data',
      'too_many_pixels',
      'decode_too_slow',
      'decode_too_large',
    ]),
    explanation: Type.String({ maxLength: 500 }),
    limit: Type.Optional(Type.Number({ minimum: 0 })),
  },
  closed,
);
const BrokenRule = Type.Union([
  Type.Object({ rule: Type.Literal('shortSide'), ...size }, closed),
  Type.Object({ rule: Type.Literal('belowSeconds'), durationSeconds: seconds }, closed),
]);
const Stopped = Type.Object({ kind: Type.Literal('stopped'), broken: BrokenRule }, closed);
const Result = Type.Union([Measured, Stopped, Refused]);

/**
 * Checks the result of a child process, which had hostile bytes in its memory; a poster that is no
 * WebP is left out. Only the parent
 * loads this file: the schema library takes longer to load than a small video takes to decode.
 * @throws when the result is not a measurement
 */
export function parseMeasurement(result: unknown): Measurement {
  const parsed = Value.Parse(Result, result);
  if (parsed.kind !== 'measured') return parsed;
  const { poster: text, ...measured } = parsed;
  const poster = text === undefined ? undefined : webpOf(text);
  return { ...measured, ...(poster && { poster }) };
}

/** The WebP that a child returned as base64; undefined if it is something else. */
export function webpOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  const sniffed = sniff(bytes);
  const isWebp = sniffed?.kind === 'image' && sniffed.mediaType === 'image/webp';
  return isWebp ? bytes : undefined;
}
