import { createHash } from 'node:crypto';
import { type TSchema, Type } from 'typebox';
import * as limits from '../../catalog/limits.ts';
import { ASPECT_RATIOS, MODELS, MODES, RESOLUTIONS } from '../../catalog/models.ts';
import { PRICE_TABLE } from '../../catalog/price.ts';
import { MODE_FIELDS, REQUIRED_FIELDS } from '../../catalog/request.ts';
import { PIXEL_BOUNDS } from '../../media/measure.ts';
import { endpoint } from './endpoint.ts';

/** What a create may ask for and its price, built from the constants that its checks use. */
const CATALOG = {
  data: MODELS.map((id) => ({
    id,
    resolutions: RESOLUTIONS.filter((one) => one in PRICE_TABLE.standard[id]),
    credits_per_second: {
      standard: PRICE_TABLE.standard[id],
      referenced: PRICE_TABLE.referenced[id],
    },
  })),
  price_version: PRICE_TABLE.version,
  modes: MODES.map((id) => ({
    id,
    accepts: MODE_FIELDS[id],
    requires_one_of: REQUIRED_FIELDS[id],
  })),
  aspect_ratios: [...ASPECT_RATIOS, 'adaptive'],
  prompt_characters: limits.PROMPT_CHARACTERS,
  duration_seconds: limits.DURATION_SECONDS,
  media: {
    max_total_bytes: limits.INPUT_BYTES,
    max_reference_images: limits.REFERENCE_IMAGES,
    max_reference_videos: limits.REFERENCE_VIDEOS,
    reference_video_seconds: limits.REFERENCE_SECONDS,
    max_total_reference_seconds: limits.TOTAL_REFERENCE_SECONDS,
    reference_video_short_side: limits.SHORT_SIDE,
    max_image_pixels: PIXEL_BOUNDS.imagePixels,
    max_video_pixels: PIXEL_BOUNDS.videoPixels,
  },
};

const BODY = JSON.stringify(CATALOG);
const ETAG = `"${createHash('sha256').update(BODY).digest('base64url').slice(0, 22)}"`;

/** How long clients may cache it; a new price is known after this time. */
const FRESH_SECONDS = 300;

const DESCRIPTIONS: Record<string, string> = {
  data: 'Each model',
  id: 'Its name in a request',
  resolutions: 'The resolutions that it offers',
  credits_per_second:
    'Per second of the output. `referenced`: with reference videos, whose seconds count too',
  price_version: 'Grows whenever a price changes. A task keeps the price of its create',
  accepts: 'The media fields that the mode takes',
  requires_one_of: 'The mode needs at least one of these fields',
  modes: 'What a request can be made from',
  aspect_ratios: 'Width to height',
  prompt_characters: 'The length of a prompt. All bounds are included',
  duration_seconds: 'The length of the video',
  media: 'Limits on the files of a request',
  max_total_bytes: 'All files together',
  max_reference_images: 'Images',
  max_reference_videos: 'Videos',
  reference_video_seconds: 'The length of each reference video',
  max_total_reference_seconds: 'All reference videos together',
  reference_video_short_side: 'Pixels of the shorter side, as displayed',
  max_image_pixels: 'Width times height',
  max_video_pixels: 'Width times height',
  min: 'At least',
  max: 'At most',
};

function schemaOf(example: unknown, name = ''): TSchema {
  const described = DESCRIPTIONS[name] === undefined ? {} : { description: DESCRIPTIONS[name] };
  if (typeof example === 'number') return Type.Integer({ ...described });
  if (typeof example === 'string') return Type.String({ ...described });
  if (Array.isArray(example)) return Type.Array(schemaOf(example.at(-1)), described);
  const members = Object.entries(Object(example));
  if (name === 'standard' || name === 'referenced') {
    return Type.Record(Type.String(), Type.Integer(), {
      description: 'By resolution; a resolution that is missing is not offered',
    });
  }
  return Type.Object(
    Object.fromEntries(members.map(([member, value]) => [member, schemaOf(value, member)])),
    described,
  );
}

/** GET /models: models, prices and limits. Cacheable; needs no API key. */
export const listModels = endpoint<object>('GET /models', {
  operationId: 'listModels',
  summary: 'Read the models, their prices and the limits of a request',
  security: [],
  response: {
    200: {
      description: 'The models.',
      ...schemaOf(CATALOG),
      title: 'ModelCatalog',
      examples: [CATALOG],
    },
    304: { description: 'If-None-Match names the current ETag.', type: 'null' },
  },
  serve: () => ({
    config: { isPublic: true },
    handler: async (request, reply) => {
      reply.header('etag', ETAG).header('cache-control', `public, max-age=${FRESH_SECONDS}`);
      if (isCurrent(request.headers['if-none-match'])) return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(BODY);
    },
  }),
});

/** Whether If-None-Match lists the current ETag, weak or strong (RFC 9110, section 13.1.2). */
function isCurrent(header = ''): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(ETAG);
}
