import type { VideoRequest } from '@framewright/client';
import openapi from '../../../openapi.json' with { type: 'json' };
import type { Call, Option } from './command.ts';

// Options for the request's fields. The API's definitions come from openapi.json.

interface Property {
  type: string;
  format?: string;
  description?: string;
  enum?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

/** Wording for the command line, where the schema's own reads badly. */
const WORDS: Record<string, { name?: string; value?: string; summary?: string }> = {
  model: { value: 'NAME', summary: 'see fw models; default' },
  resolution: { value: 'R', summary: '' },
  aspect_ratio: { value: 'W:H', summary: '' },
  generate_audio: { name: 'no-audio', summary: 'without sound' },
  seed: { summary: 'the same seed gives a similar video' },
};

const SCHEMAS = openapi.components.schemas;

/** The prompt and files have their own options, which determine the mode. */
const isSetting = ([field, { type, format }]: [string, Property]) =>
  field !== 'mode' && field !== 'prompt' && type !== 'array' && format !== 'uri';

const SETTINGS = Object.entries<Property>(SCHEMAS.VideoRequest.properties)
  .filter(isSetting)
  .map(([field, property]) => ({
    field,
    name: WORDS[field]?.name ?? field.replaceAll('_', '-'),
    option: optionOf(field, property),
  }));

export const SETTING_OPTIONS: Record<string, Option> = Object.fromEntries(
  SETTINGS.map(({ name, option }) => [name, option]),
);

function optionOf(field: string, property: Property): Option {
  const { type, description = '', enum: values = [], default: usual } = property;
  const { minimum, maximum } = property;
  const words = WORDS[field];
  const text = words?.summary ?? description.charAt(0).toLowerCase() + description.slice(1);
  if (type === 'boolean') return { kind: 'flag', summary: text };
  if (type === 'integer') {
    const range = usual === undefined ? '' : `, ${minimum} to ${maximum}; default ${usual}`;
    return { kind: 'integer', value: 'N', summary: text + range };
  }
  const value = words?.value ?? 'VALUE';
  // Not limited to known models: the service may offer newer ones.
  if (field === 'model') return { kind: 'text', value, summary: `${text} ${usual}` };
  const summary = [text, listOf(values, usual)].filter(Boolean).join(': ');
  return { kind: 'text', value, summary, values };
}

/** Such as `480p, 720p (default) or 1080p`. */
function listOf(values: string[], usual: unknown): string {
  const shown = values.map((value) => (value === usual ? `${value} (default)` : value));
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(shown);
}

/** The fields set on the command line. The service validates them. */
export function settingsOf(call: Call): Partial<VideoRequest> {
  const given = SETTINGS.map((one) => [one.field, givenFor(call, one)]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** A flag turns off a default: `--no-audio`. */
function givenFor(call: Call, { name, option: { kind } }: (typeof SETTINGS)[number]) {
  if (kind === 'flag') return call.flag(name) ? !name.startsWith('no-') : undefined;
  return kind === 'integer' ? call.integer(name) : call.text(name);
}

export const STATUSES: readonly string[] = SCHEMAS.VideoTask.properties.status.enum;

export const EVENT_TYPES = SCHEMAS.WebhookEndpointRequest.properties.events.items.enum;

export const [TEST_EVENT = ''] = SCHEMAS.TestEvent.properties.type.enum;

/** The outcomes that a test key's prompt can ask for, as the service documents them. */
export const OUTCOMES: Record<string, { create: string; end: string }> = {
  'test-completed': { create: '202', end: 'completed' },
  'test-slow': { create: '202', end: 'completed' },
  'test-refused': { create: '400 invalid_request', end: 'content_refused' },
  'test-media-unreachable': { create: '400 invalid_request', end: 'invalid_media' },
  'test-busy': { create: '503 service_busy', end: 'not_accepted' },
  'test-failed': { create: '202', end: 'provider_failed' },
  'test-held-accepted': { create: '503 service_busy', end: 'completed' },
  'test-held-refused': { create: '503 service_busy', end: 'not_accepted' },
  'test-rate-limited': { create: '429 rate_limited', end: '' },
  'test-insufficient-credits': { create: '402 insufficient_credits', end: '' },
};
