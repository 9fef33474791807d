import { createHash } from 'node:crypto';
import { type TSchema, Type } from 'typebox';
import {
  ALL_DURATIONS,
  BUILT_IN,
  type Catalog,
  type CatalogDeps,
  type CatalogModel,
  type ModelRates,
  NOTICE_SECONDS,
  offeredModels,
} from '../../catalog/catalog.ts';
import * as limits from '../../catalog/limits.ts';
import { MODES, REQUEST_RATIOS } from '../../catalog/models.ts';
import { priceAfter, priceAt, priceVersionAt } from '../../catalog/price.ts';
import { MODE_FIELDS, REQUIRED_FIELDS } from '../../catalog/request.ts';
import { PIXEL_BOUNDS } from '../../media/measure.ts';
import { endpoint } from './endpoint.ts';

/** What a create may ask for and its price, built from the constants that its checks use. */
function modelsAt(catalog: Catalog, at: Date) {
  return {
    data: offeredModels(catalog).map((model) => {
      const price = priceAt(model, at);
      const next = priceAfter(model, at);
      return {
        id: model.name,
        ...differencesOf(model),
        resolutions: Object.keys(price.standard),
        credits_per_second: ratesOf(price),
        ...(next && {
          next_price: { from: next.from.toISOString(), credits_per_second: ratesOf(next) },
        }),
      };
    }),
    price_version: priceVersionAt(catalog, at),
    ...LIMITS,
  };
}

const ratesOf = ({ standard, referenced }: ModelRates) => ({ standard, referenced });

/** Where a model offers less than {@link LIMITS}: nowhere for the built-in models. */
function differencesOf({ name, title, modes, durations, aspectRatios, audio, seed }: CatalogModel) {
  return {
    ...(title !== name && { title }),
    ...(modes.length < MODES.length && { modes }),
    ...(durations.length < ALL_DURATIONS.length && { durations }),
    ...(aspectRatios.length < REQUEST_RATIOS.length && { aspect_ratios: aspectRatios }),
    ...(!audio && { audio }),
    ...(!seed && { seed }),
  };
}

const LIMITS = {
  modes: MODES.map((id) => ({
    id,
    accepts: MODE_FIELDS[id],
    requires_one_of: REQUIRED_FIELDS[id],
  })),
  aspect_ratios: REQUEST_RATIOS,
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

const DESCRIPTIONS: Record<string, string> = {
  data: 'Each model',
  id: 'Its name in a request',
  resolutions: 'The resolutions that it offers',
  credits_per_second:
    'Per second of the output. `referenced`: with reference videos, whose seconds count too',
  title: 'The name that people read, if it is not the id',
  durations: 'The seconds that it makes, if it does not make all of duration_seconds',
  audio: 'false: it draws no sound',
  seed: 'false: it takes no seed',
  next_price: 'A price that is announced, if there is one',
  from: 'When it takes effect',
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

/**
 * Derives a schema from the examples of one place in the response. A member that one of them lacks
 * is optional.
 */
function schemaOf(examples: unknown[], name = ''): TSchema {
  const [example] = examples;
  const described = DESCRIPTIONS[name] === undefined ? {} : { description: DESCRIPTIONS[name] };
  if (typeof example === 'number') return Type.Integer({ ...described });
  if (typeof example === 'string') return Type.String({ ...described });
  if (typeof example === 'boolean') return Type.Boolean({ ...described });
  if (Array.isArray(example)) return Type.Array(schemaOf(examples.flat()), described);
  if (name === 'standard' || name === 'referenced') {
    return Type.Record(Type.String(), Type.Integer(), {
      description: 'By resolution; a resolution that is missing is not offered',
    });
  }
  const names = new Set(examples.flatMap((example) => Object.keys(Object(example))));
  const members = Array.from(names, (member): [string, TSchema] => {
    const given = examples.flatMap((example) => Object.entries(Object(example)));
    const values = given.filter(([key]) => key === member).map(([, value]) => value);
    const schema = schemaOf(values, member);
    return [member, values.length < examples.length ? Type.Optional(schema) : schema];
  });
  return Type.Object(Object.fromEntries(members), described);
}

/** The response that describes a catalog in openapi.json. */
export function modelsResponse(catalog: Catalog, at: Date) {
  const example = modelsAt(catalog, at);
  return {
    description: 'The models.',
    ...schemaOf([example]),
    title: 'ModelCatalog',
    examples: [example],
  };
}

/** GET /models: models, prices and limits. Cacheable; needs no API key. */
export const listModels = endpoint<CatalogDeps>('GET /models', {
  operationId: 'listModels',
  summary: 'Read the models, their prices and the limits of a request',
  security: [],
  response: {
    200: modelsResponse(BUILT_IN, new Date(0)),
    304: { description: 'If-None-Match names the current ETag.', type: 'null' },
  },
  serve: ({ catalog, now }) => {
    return {
      config: { isPublic: true },
      handler: async (request, reply) => {
        const body = JSON.stringify(modelsAt(catalog.current(), new Date(now())));
        const digest = createHash('sha256').update(body).digest('base64url');
        const etag = `"${digest.slice(0, 22)}"`;
        reply.header('etag', etag).header('cache-control', `public, max-age=${NOTICE_SECONDS}`);
        if (includesEtag(etag, request.headers['if-none-match'])) return reply.code(304).send();
        return reply.type('application/json; charset=utf-8').send(body);
      },
    };
  },
});

/** Whether If-None-Match lists the ETag, weak or strong (RFC 9110, section 13.1.2). */
function includesEtag(etag: string, header = ''): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
