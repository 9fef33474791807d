import type { FormRules } from '../../../../server/src/site/playground/prices.ts';
import type { SiteUpload } from '../../../../server/src/site/playground/uploads.ts';

/** The part of openapi.json that the form is built from: the body of a create. */
export interface BodySchema {
  properties: Record<string, Property>;
}

export interface Property {
  type?: string;
  description?: string;
  format?: string;
  enum?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  items?: Property;
}

export interface Rules {
  schema: BodySchema;
  prices: FormRules;
}

export function bodySchemaOf(openapi: unknown): BodySchema {
  const { components } = openapi as { components: { schemas: { VideoRequest: BodySchema } } };
  return components.schemas.VideoRequest;
}

/** A file of a request: a URL, or an upload that may be in progress. */
export interface Medium {
  key: string;
  /** An https URL, or `upload:ID`. */
  url: string;
  upload?: SiteUpload;
  /** The whole seconds of a reference video. */
  seconds: number;
  name?: string;
  /** While uploading: the fraction that has arrived, 0 to 1. */
  progress?: { part: number };
  error?: string;
}

export const MEDIA_FIELDS = [
  'image_url',
  'end_image_url',
  'reference_image_urls',
  'reference_video_urls',
] as const;
export type MediaField = (typeof MEDIA_FIELDS)[number];

/** The fields with their own control (settings.tsx). */
interface Chosen {
  mode: string;
  model: string;
  prompt: string;
  aspect_ratio: string;
  duration: number;
  resolution: string;
}

/** The form's content. Other modes' media are kept, so that switching modes loses nothing. */
export interface Form extends Chosen {
  /** All other fields, as their controls hold them; requests leave out an empty text. */
  extras: Record<string, string | boolean>;
  media: Record<MediaField, Medium[]>;
}

export type Body = Record<string, unknown>;

/** The request's fields that the form renders from their schema alone. */
export function extrasIn({ properties }: BodySchema): [field: string, property: Property][] {
  const others: readonly string[] = [...MEDIA_FIELDS, ...Object.keys(chosenIn({}, properties))];
  return Object.entries(properties).filter(
    ([field]) => !others.includes(field) && field !== 'reference_video_durations',
  );
}

function chosenIn(request: Body, properties: BodySchema['properties']): Chosen {
  const text = (name: string) => String(request[name] ?? properties[name]?.default ?? '');
  return {
    mode: text('mode'),
    model: text('model'),
    prompt: text('prompt'),
    aspect_ratio: text('aspect_ratio'),
    resolution: text('resolution'),
    duration: Number(text('duration')),
  };
}

let keys = 0;

export function newMedium(more: Partial<Medium> = {}): Medium {
  keys += 1;
  return { key: `medium-${keys}`, url: '', seconds: 5, ...more };
}

/** @param base the file while it was uploading, or a new medium */
export function mediumOf(upload: SiteUpload, base = newMedium()): Medium {
  const seconds = Math.round(upload.duration_seconds ?? base.seconds);
  return { ...base, url: upload.url, upload, seconds };
}

/** The files of a field after one was added or has changed. */
export function withMedium(before: Medium[], changed: Medium): Medium[] {
  return before.some(({ key }) => key === changed.key)
    ? before.map((medium) => (medium.key === changed.key ? changed : medium))
    : [...before.filter((medium) => medium.error === undefined), changed];
}

export function mediaOf(
  form: Pick<Form, 'mode' | 'media'>,
  { modes }: FormRules,
): [MediaField, Medium[]][] {
  const accepted = modes[form.mode]?.accepts ?? [];
  return MEDIA_FIELDS.filter((field) => accepted.includes(field)).map((field) => [
    field,
    form.media[field].filter(({ url }) => url !== ''),
  ]);
}

export function bodyOf({ media, extras, ...chosen }: Form, { schema, prices }: Rules): Body {
  const given: Body = { ...chosen, prompt: chosen.prompt.trim() };
  for (const [field, list] of mediaOf({ mode: chosen.mode, media }, prices)) {
    if (list.length === 0) continue;
    const urls = list.map(({ url }) => url);
    given[field] = field.endsWith('s') ? urls : urls[0];
    if (field !== 'reference_video_urls') continue;
    given.reference_video_durations = list.map(({ seconds }) => seconds);
  }
  for (const [field, { type }] of extrasIn(schema)) {
    const value = extras[field];
    const text = typeof value === 'string' ? value.trim() : value;
    if (text !== '') given[field] = type === 'integer' ? Number(text) : text;
  }
  const fields = Object.keys(schema.properties).filter((field) => given[field] !== undefined);
  return Object.fromEntries(fields.map((field) => [field, given[field]]));
}

/**
 * The same request several times, to be sent together. From a given seed on, the seeds count up;
 * without one, the service draws one for each.
 */
export function variationsOf(body: Body, count: number, rules: Rules): Body[] {
  const { maximum = 0 } = rules.schema.properties.seed ?? {};
  const first = Number(body.seed ?? -1);
  const isCounted = first >= 0 && takesSeed(body, rules);
  return Array.from({ length: count }, (_, i) =>
    isCounted ? { ...body, seed: (first + i) % (maximum + 1) } : body,
  );
}

/** Whether the model uses a seed. A request may name one for any model. */
export function takesSeed({ model }: Body | Form, { prices }: Rules): boolean {
  return prices.models.some(({ name, seed }) => name === model && seed);
}

export function formOf(request: Body, schema: BodySchema): Form {
  const lists = MEDIA_FIELDS.map((field) => {
    const urls = [request[field] ?? []].flat().map(String);
    const seconds = request.reference_video_durations;
    const media = urls.map((url, i) => {
      return newMedium({ url, seconds: Array.isArray(seconds) ? Number(seconds[i]) : 5 });
    });
    return [field, media] as const;
  });
  const extras = extrasIn(schema).map(([field, property]) => {
    const value = request[field] ?? property.default ?? '';
    return [field, typeof value === 'boolean' ? value : String(value)];
  });
  return {
    ...chosenIn(request, schema.properties),
    extras: Object.fromEntries(extras),
    media: Object.fromEntries(lists) as Form['media'],
  };
}

/** The form as saved in the window: without unfinished uploads. */
export function keptForm(form: Form): Form {
  const lists = MEDIA_FIELDS.map((field) => [
    field,
    form.media[field].filter(({ url }) => url !== ''),
  ]);
  return { ...form, media: Object.fromEntries(lists) };
}

/** Restores a form saved by {@link keptForm}, perhaps before the request's fields changed. */
export function formFromKept(kept: unknown, schema: BodySchema): Form {
  const { media, extras, ...chosen } = kept as Partial<Form>;
  const form = formOf({ ...chosen, ...extras }, schema);
  for (const field of MEDIA_FIELDS) {
    const list = media?.[field];
    if (Array.isArray(list))
      form.media[field] = list.map(({ key: _, ...medium }) => newMedium(medium));
  }
  return form;
}

/** What must be filled in before sending, by field. The service checks the rest. */
export function missingIn(form: Form, { schema, prices }: Rules): Record<string, string> {
  const { minLength = 0, maxLength = 0 } = schema.properties.prompt ?? {};
  const missing: Record<string, string> = {};
  const { length } = form.prompt.trim();
  if (length < minLength || length > maxLength) {
    missing.prompt = `Describe the video in ${minLength} to ${maxLength} characters.`;
  }
  const requires = prices.modes[form.mode]?.requires ?? [];
  const given = mediaOf(form, prices).filter(([, list]) => list.length > 0);
  if (requires.length > 0 && !given.some(([field]) => requires.includes(field))) {
    missing[requires[0] ?? ''] = 'This mode needs at least one file here.';
  }
  for (const field of MEDIA_FIELDS) {
    if (isUploading(form, field)) missing[field] = 'Wait for the upload.';
  }
  return missing;
}

export function isUploading({ media }: Form, field: MediaField): boolean {
  return media[field].some(({ progress }) => progress);
}

/** The values that a model offers, for each field in which models may differ. */
interface Offers {
  mode: readonly string[];
  duration: readonly number[];
  aspect_ratio: readonly string[];
  resolution: readonly string[];
}

export function offersOf({ model }: Pick<Form, 'model'>, { schema, prices }: Rules): Offers {
  const {
    modes = [],
    durations = [],
    aspect_ratios = [],
  } = prices.models.find(({ name }) => name === model) ?? {};
  const rates = prices.prices.standard[model] ?? {};
  const resolutions = schema.properties.resolution?.enum ?? [];
  return {
    mode: modes,
    duration: durations,
    aspect_ratio: aspect_ratios,
    resolution: resolutions.filter((resolution) => resolution in rates),
  };
}

/** Chooses another model, and replaces values that it does not offer. */
export function withModel(form: Form, model: string, rules: Rules): Partial<Form> {
  const offers = offersOf({ model }, rules);
  const fit = <Value>(value: Value, offered: readonly Value[], fallback = offered[0]) =>
    offered.includes(value) ? value : (fallback ?? value);
  return {
    model,
    mode: fit(form.mode, offers.mode),
    duration: fit(form.duration, offers.duration),
    aspect_ratio: fit(form.aspect_ratio, offers.aspect_ratio),
    resolution: fit(form.resolution, offers.resolution, offers.resolution.at(-1)),
  };
}
