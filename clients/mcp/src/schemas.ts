import type { JsonSchemaType } from '@modelcontextprotocol/server';
import openapi from '../../../openapi.json' with { type: 'json' };

interface Schema {
  [keyword: string]: unknown;
  $ref?: string;
  type?: string | string[];
  description?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
}

const API: Record<string, Schema> = openapi.components.schemas;
const { VideoRequest } = openapi.components.schemas;

export type ResultName = keyof typeof openapi.components.schemas;

const REQUEST_ID = {
  type: 'string',
  minLength: 8,
  maxLength: 120,
  pattern: '^[a-zA-Z0-9._:-]+$',
  description:
    'Your own name for this one video, such as a UUID. Send the same one again after any ' +
    'failure: the video is then made and charged once. A new video needs a new request_id.',
};

const MAX_CREDITS = {
  type: 'integer',
  minimum: 0,
  description:
    'The most that the user agreed to pay. A video that costs more is refused before anything is ' +
    'charged, and the refusal says its price.',
};

const TASK_ID = {
  type: 'string',
  maxLength: 160,
  pattern: '^[a-zA-Z0-9_-]+$', // no dots: a URL path with .. leads elsewhere
  description: 'The task_id that generate_video or list_videos returned.',
};

function objectOf(properties: object, required: string[] = []): JsonSchemaType {
  const schema = { type: 'object', properties, required, additionalProperties: false };
  return schema as JsonSchemaType;
}

const ERROR = {
  code: { type: 'string', description: 'Why the call was refused' },
  message: { type: 'string', description: 'The reason, as a sentence' },
  charged: { type: 'string', description: 'no, refunded, or reserved (also if nobody knows)' },
  retry: {
    type: 'string',
    description:
      'Whether to retry: same_key (with this request_id), new_key (with another) or never',
  },
  task_id: { type: 'string', description: 'The task that the call is about' },
  request_id: { type: 'string', description: 'The request_id of generate_video' },
  retry_after_seconds: { type: 'number', description: 'How long to wait before the next call' },
  credits: { type: 'integer', description: 'The price' },
  max_credits: { type: 'integer', description: 'The limit that generate_video was given' },
  x_request_id: { type: 'string', description: 'For a report to the operator' },
};

/** A result's schema. Clients also validate errors against it, so none of it is required. */
export function resultSchema(name: ResultName): JsonSchemaType {
  const properties = { ...ERROR, ...typesOf(API[name]).properties };
  return { type: 'object', properties } as JsonSchemaType;
}

/**
 * A result's names, types and descriptions, without enums: clients reject data that does not match
 * its schema, and a newer service may return another model.
 */
function typesOf({ $ref = '', ...own }: Schema = {}): Schema {
  const { type, description, required, properties, items } = {
    ...API[$ref.replace('#/components/schemas/', '')],
    ...own,
  };
  const members = Object.entries(properties ?? {}).map(([key, value]) => [key, typesOf(value)]);
  return {
    ...(type && { type }),
    ...(description && { description }),
    ...(required && { required }),
    ...(properties && { properties: Object.fromEntries(members) }),
    ...(items && { items: typesOf(items) }),
  };
}

function filtersOfList(): object {
  const { parameters } = openapi.paths['/api/v1/tasks'].get;
  const filters = parameters
    .filter((one) => 'schema' in one)
    .map(({ name, schema, description }) => [name, { ...schema, description }]);
  return { ...Object.fromEntries(filters), model: anyModel('Only videos of this model') };
}

/** Not limited to known models: the service may offer others, and refuses what it lacks. */
function anyModel(description: string) {
  return { type: 'string', description: `${description}; list_models has their names` };
}

const { default: byDefault } = VideoRequest.properties.model;
const REQUEST = {
  ...VideoRequest.properties,
  model: { ...anyModel('The model'), default: byDefault },
};

export const SCHEMAS = {
  generate: objectOf({ request_id: REQUEST_ID, max_credits: MAX_CREDITS, ...REQUEST }, [
    'request_id',
    ...VideoRequest.required,
  ]),
  quote: objectOf(REQUEST, VideoRequest.required),
  list: objectOf(filtersOfList()),
  task: objectOf({ task_id: TASK_ID }, ['task_id']),
  none: objectOf({}),
  upload: objectOf(
    {
      path: {
        type: 'string',
        description: 'A picture or video below the folder that the user allows.',
      },
    },
    ['path'],
  ),
} as const;
