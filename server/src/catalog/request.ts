import { type Static, Type } from 'typebox';
import { type ErrorDetails, invalidRequest } from '../kernel/errors.ts';
import { checkUrl, type HostRules } from '../outbound/addresses.ts';
import { OutboundError } from '../outbound/refusal.ts';
import { type Catalog, type CatalogModel, modelNamed, offeredNames } from './catalog.ts';
import {
  DURATION_SECONDS,
  PROMPT_CHARACTERS,
  REFERENCE_IMAGES,
  REFERENCE_SECONDS,
  REFERENCE_VIDEOS,
  TOTAL_REFERENCE_SECONDS,
  URL_CHARACTERS,
} from './limits.ts';
import { modelSchema } from './model-schema.ts';
import { MODES, REQUEST_RATIOS, RESOLUTIONS } from './models.ts';
import { type Price, type PricedRequest, priceAt, priceOf } from './price.ts';

type Bounds = Record<'min' | 'max', number>;

export const UrlSchema = Type.String({
  format: 'uri',
  maxLength: URL_CHARACTERS,
  description: 'HTTPS, or an upload',
});

const addressOf = (what: string) => {
  return { ...UrlSchema, description: `${what}: HTTPS, or an upload` };
};

const numberIn = ({ min: minimum, max: maximum }: Bounds) => ({ minimum, maximum });
const lengthIn = ({ min: minLength, max: maxLength }: Bounds) => ({ minLength, maxLength });

/** The body of POST /video/generations as sent (contract, "Request body"). */
export const GenerationBodySchema = Type.Object(
  {
    mode: Type.Optional(
      Type.Enum(MODES, {
        default: 'text-to-video',
        description:
          'image-to-video takes image_url (required) and end_image_url; media-to-video takes the ' +
          'reference fields, at least one image or video; text-to-video takes none of them',
      }),
    ),
    model: Type.Optional(
      modelSchema({ default: 'video-2.0-fast', description: 'GET /models has their prices' }),
    ),
    prompt: Type.String({ ...lengthIn(PROMPT_CHARACTERS), description: 'What the video shows' }),
    aspect_ratio: Type.Optional(
      Type.Enum(REQUEST_RATIOS, {
        default: '16:9',
        description:
          'Width to height. adaptive: the ratio nearest to the first image or video, else 16:9',
      }),
    ),
    duration: Type.Optional(
      Type.Integer({ ...numberIn(DURATION_SECONDS), default: 5, description: 'Seconds' }),
    ),
    resolution: Type.Optional(
      Type.Enum(RESOLUTIONS, { default: '720p', description: 'Not every model offers all' }),
    ),
    image_url: Type.Optional(addressOf('The first frame')),
    end_image_url: Type.Optional(addressOf('The last frame')),
    reference_image_urls: Type.Optional(
      Type.Array(UrlSchema, {
        maxItems: REFERENCE_IMAGES,
        default: [],
        description: 'Images that the video refers to',
      }),
    ),
    reference_video_urls: Type.Optional(
      Type.Array(UrlSchema, {
        maxItems: REFERENCE_VIDEOS,
        default: [],
        description:
          'Videos that the video refers to; their seconds are billed too, but with them each ' +
          'second of the request costs less',
      }),
    ),
    reference_video_durations: Type.Optional(
      Type.Array(Type.Integer(numberIn(REFERENCE_SECONDS)), {
        minItems: 1,
        maxItems: REFERENCE_VIDEOS,
        description: 'Whole seconds of each reference video, in order',
      }),
    ),
    generate_audio: Type.Optional(
      Type.Boolean({ default: true, description: 'Whether the video has sound' }),
    ),
    seed: Type.Optional(
      Type.Integer({ minimum: -1, maximum: 4294967295, description: '-1: the service draws one' }),
    ),
  },
  {
    title: 'VideoRequest',
    additionalProperties: false,
    examples: [
      {
        mode: 'media-to-video',
        model: 'video-2.0-fast',
        prompt: 'A lighthouse at dawn, seen from a boat',
        aspect_ratio: '16:9',
        duration: 5,
        resolution: '720p',
        reference_image_urls: ['https://media.example.com/lighthouse.jpg'],
        reference_video_urls: ['https://media.example.com/waves.mp4'],
        reference_video_durations: [3],
        seed: 42,
      },
    ],
  },
);

export type GenerationBody = Static<typeof GenerationBodySchema>;
type Undefaulted = 'image_url' | 'end_image_url' | 'reference_video_durations' | 'seed';

/** A valid request, with its defaults filled in. */
export type GenerationRequest = Required<Omit<GenerationBody, Undefaulted>> &
  Pick<GenerationBody, Undefaulted>;

export type RequestField = keyof GenerationBody;

function refuse(
  field: RequestField,
  reason: string,
  message: string,
  more: ErrorDetails = {},
): never {
  throw invalidRequest(message, { field, reason, ...more });
}

function isGiven(request: GenerationRequest, field: RequestField): boolean {
  const value = request[field];
  return Array.isArray(value) ? value.length > 0 : value !== undefined;
}

const FRAME_FIELDS = ['image_url', 'end_image_url'] as const;
const REFERENCE_FIELDS = [
  'reference_image_urls',
  'reference_video_urls',
  'reference_video_durations',
] as const;

const MEDIA_FIELDS: readonly RequestField[] = [...FRAME_FIELDS, ...REFERENCE_FIELDS];

/** A request without the fields that name files. */
export type Parameters = Omit<
  GenerationRequest,
  (typeof FRAME_FIELDS)[number] | (typeof REFERENCE_FIELDS)[number]
>;

export function parametersOf(request: GenerationRequest): Parameters {
  const isMedia = (field: string) => MEDIA_FIELDS.some((media) => media === field);
  const given = Object.entries(request).filter(([field]) => !isMedia(field));
  return Object.fromEntries(given) as Parameters;
}

/** The media fields that each mode accepts. */
export const MODE_FIELDS: Record<GenerationRequest['mode'], readonly RequestField[]> = {
  'text-to-video': [],
  'image-to-video': FRAME_FIELDS,
  'media-to-video': REFERENCE_FIELDS,
};

/** The media fields of which each mode requires at least one. */
export const REQUIRED_FIELDS: Record<GenerationRequest['mode'], readonly RequestField[]> = {
  'text-to-video': [],
  'image-to-video': ['image_url'],
  'media-to-video': ['reference_image_urls', 'reference_video_urls'],
};

function checkMode(request: GenerationRequest): void {
  const { mode } = request;
  for (const field of MEDIA_FIELDS) {
    if (!MODE_FIELDS[mode].includes(field) && isGiven(request, field)) {
      refuse(field, 'not_accepted_in_mode', `${field} is not accepted in ${mode} mode.`, { mode });
    }
  }
  const [required, ...others] = REQUIRED_FIELDS[mode];
  if (!required || [required, ...others].some((field) => isGiven(request, field))) return;
  const message =
    mode === 'image-to-video'
      ? 'image_url is required in image-to-video mode.'
      : 'media-to-video mode requires at least one reference image or video URL.';
  refuse(required, 'required', message, { mode });
}

function checkDurations(request: GenerationRequest): void {
  const field = 'reference_video_durations';
  const durations = request.reference_video_durations ?? [];
  const urls = request.reference_video_urls;
  if (durations.length !== urls.length) {
    const message = `${field} needs one whole-second duration per reference video URL, in order.`;
    const counts = { expected: urls.length, given: durations.length };
    refuse(field, durations.length === 0 ? 'required' : 'count_mismatch', message, counts);
  }
  const total = durations.reduce((a, b) => a + b, 0);
  if (total > TOTAL_REFERENCE_SECONDS) {
    const limit = `${TOTAL_REFERENCE_SECONDS} seconds`;
    const message = `Reference videos may last at most ${limit} in total.`;
    refuse(field, 'total_too_long', message, { total_seconds: total });
  }
}

function checkUrls(request: GenerationRequest, hosts: HostRules): void {
  for (const input of inputsOf(request)) {
    const problem = urlProblem(input.url, hosts);
    if (problem === undefined) continue;
    const entry = input.entry === null ? {} : { entry: input.entry };
    refuse(input.field, problem.reason, `${inputName(input)}: ${problem.message}`, entry);
  }
}

/** Why this URL is refused in a media field, or undefined if it is accepted. No DNS lookup. */
export function urlProblem(url: string, hosts: HostRules): OutboundError | undefined {
  try {
    if (uploadIdOf(url) === undefined) checkUrl(url, hosts);
    return undefined;
  } catch (error) {
    if (error instanceof OutboundError) return error;
    throw error;
  }
}

/** The prefix that marks an upload in a media field, as tasks store it. */
const UPLOAD = 'upload:';

/** The id in an address such as `upload:obj_1`; undefined for other addresses. */
export function uploadIdOf(url: string): string | undefined {
  return url.startsWith(UPLOAD) ? url.slice(UPLOAD.length) : undefined;
}

/** A URL under this path of PUBLIC_URL names an upload. Nothing is served there. */
const UPLOADS_PATH = '/uploads/';

/** The address of an upload for the media fields of its account. */
export function uploadUrl(publicUrl: string, id: string): string {
  return publicUrl + UPLOADS_PATH + id;
}

/** Replaces upload URLs in the media fields by `upload:ID`. */
export function withUploads(request: GenerationRequest, publicUrl: string): GenerationRequest {
  const stored = (url: string) => storedUrl(url, publicUrl);
  const { image_url: first, end_image_url: last } = request;
  return {
    ...request,
    ...(first !== undefined && { image_url: stored(first) }),
    ...(last !== undefined && { end_image_url: stored(last) }),
    reference_image_urls: request.reference_image_urls.map(stored),
    reference_video_urls: request.reference_video_urls.map(stored),
  };
}

/**
 * An address as tasks store it: `upload:ID` if it is one of {@link uploadUrl}. A query or fragment
 * becomes part of the id, so no upload matches.
 */
export function storedUrl(url: string, publicUrl: string): string {
  const own = URL.parse(publicUrl + UPLOADS_PATH);
  const given = URL.parse(url);
  if (!own || given?.origin !== own.origin) return url;
  return given.href.startsWith(own.href) ? UPLOAD + given.href.slice(own.href.length) : url;
}

/** What a request is checked against. */
interface CheckRules {
  /** The hosts that its URLs may have. */
  hosts: HostRules;
  catalog: Catalog;
  /** When the request came, which decides its price. */
  at: Date;
}

/**
 * Checks the rules that the schema can't express: those of the mode, of the durations and of the
 * URLs (without a DNS lookup), and that the model offers what is asked for.
 * @returns the price
 * @throws ApiError `invalid_request` that names the field
 */
export function checkRequest(request: GenerationRequest, rules: CheckRules): Price {
  const model = requireModel(rules.catalog, request.model);
  checkMode(request);
  checkDurations(request);
  checkUrls(request, rules.hosts);
  requireOffer(model, 'mode', model.modes, request);
  requireOffer(model, 'aspect_ratio', model.aspectRatios, request);
  return requirePrice(request, rules);
}

/**
 * The price of a request.
 * @throws ApiError `invalid_request` when the model does not make such a video
 */
export function requirePrice(
  request: PricedRequest,
  { catalog, at }: Pick<CheckRules, 'catalog' | 'at'>,
): Price {
  const model = requireModel(catalog, request.model);
  requireOffer(model, 'duration', model.durations, request);
  const { standard, referenced } = priceAt(model, at);
  requireOffer(
    model,
    'resolution',
    RESOLUTIONS.filter((resolution) => resolution in standard),
    request,
  );
  const price = priceOf(catalog, request, at);
  if (price) return price;
  const message = `${model.name} does not offer reference videos.`;
  const resolutionsWithReferences = Object.keys(referenced);
  const details = { model: model.name, offered: resolutionsWithReferences };
  return refuse('reference_video_urls', 'not_offered', message, details);
}

/** A retired model gets the error of a model that does not exist. */
function requireModel(catalog: Catalog, name: string): CatalogModel {
  const model = modelNamed(catalog, name);
  if (model && model.state !== 'retired') return model;
  const allowedValues = offeredNames(catalog);
  const message = `model must be one of ${allowedValues.join(', ')}.`;
  return refuse('model', 'not_one_of', message, { allowedValues });
}

function requireOffer<Field extends 'mode' | 'aspect_ratio' | 'duration' | 'resolution'>(
  { name: model, source }: CatalogModel,
  field: Field,
  offered: readonly GenerationRequest[Field][],
  request: Pick<GenerationRequest, Field>,
): void {
  const value = request[field];
  if (offered.includes(value)) return;
  const message = `${model} does not offer ${value}${field === 'duration' ? ' seconds' : ''}.`;
  // Errors about built-in models keep exactly the `details` of contract version 1.
  const more = source === 'built-in' ? {} : { offered };
  refuse(field, 'not_offered', message, { model, [field]: value, ...more });
}

/** A file that the client names and the service copies. */
export interface RequestedInput {
  field: 'image_url' | 'end_image_url' | 'reference_image_urls' | 'reference_video_urls';
  /** The index in a list field, from 0. */
  entry: number | null;
  url: string;
  kind: 'image' | 'video';
  /** Whole seconds; null unless it is a reference video. */
  declaredSeconds: number | null;
}

/** The files that a request names, in the order of its fields. */
export function inputsOf(request: GenerationRequest): RequestedInput[] {
  const frames = FRAME_FIELDS.flatMap((field): RequestedInput | [] => {
    const url = request[field];
    return url ? { field, entry: null, url, kind: 'image', declaredSeconds: null } : [];
  });
  const images = request.reference_image_urls.map((url, entry): RequestedInput => {
    return { field: 'reference_image_urls', entry, url, kind: 'image', declaredSeconds: null };
  });
  const videos = request.reference_video_urls.map((url, entry): RequestedInput => {
    const declaredSeconds = request.reference_video_durations?.[entry] ?? null;
    return { field: 'reference_video_urls', entry, url, kind: 'video', declaredSeconds };
  });
  return [...frames, ...images, ...videos];
}

/** The URLs in the media fields of a body that is not checked yet. */
export function mediaUrlsOf(
  body: unknown,
): Array<Pick<RequestedInput, 'field' | 'entry'> & { url: unknown }> {
  const given: Partial<Record<string, unknown>> = Object(body);
  const lists = { reference_image_urls: REFERENCE_IMAGES, reference_video_urls: REFERENCE_VIDEOS };
  return [
    ...FRAME_FIELDS.flatMap((field) => {
      return given[field] === undefined ? [] : { field, entry: null, url: given[field] };
    }),
    ...(['reference_image_urls', 'reference_video_urls'] as const).flatMap((field) => {
      const urls = given[field];
      if (!Array.isArray(urls)) return [];
      return urls.slice(0, lists[field]).map((url: unknown, entry) => ({ field, entry, url }));
    }),
  ];
}

/** The name of an input in messages: `image_url`, or `reference_video_urls[1]`. */
export function inputName(input: Pick<RequestedInput, 'field' | 'entry'>): string {
  return input.entry === null ? input.field : `${input.field}[${input.entry}]`;
}
