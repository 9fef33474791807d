import { readFileSync } from 'node:fs';
import type { JsonSchemaType } from '@modelcontextprotocol/server';

// The input of each tool. What the API defines comes from openapi.json.

interface Input {
  properties: Record<string, unknown>;
  required?: string[];
}

const OPERATIONS: Record<'createVideo' | 'createQuote' | 'listTasks', Input> = JSON.parse(
  readFileSync(new URL('operations.json', import.meta.url), 'utf8'),
);

const REQUEST_ID = {
  type: 'string',
  minLength: 8,
  maxLength: 120,
  pattern: '^[a-zA-Z0-9._:-]+$',
  description:
    'Your own name for this one video, such as a UUID. Send the same one again after any ' +
    'failure: the video is then made and charged once. A new video needs a new request_id.',
};

const TASK_ID = {
  type: 'string',
  maxLength: 160,
  pattern: '^[a-zA-Z0-9_-]+$', // no dots: of an address, they would name another one
  description: 'The task_id that generate_video or list_videos returned.',
};

/** A schema of JSON text: what openapi.json says is one. */
function objectOf(properties: object, required: string[] = []): JsonSchemaType {
  const schema = { type: 'object', properties, required, additionalProperties: false };
  return schema as JsonSchemaType;
}

const GENERATION = OPERATIONS.createVideo;

export const SCHEMAS = {
  generate: objectOf({ request_id: REQUEST_ID, ...GENERATION.properties }, [
    'request_id',
    ...(GENERATION.required ?? []),
  ]),
  quote: objectOf(OPERATIONS.createQuote.properties, OPERATIONS.createQuote.required),
  list: objectOf(OPERATIONS.listTasks.properties),
  task: objectOf({ task_id: TASK_ID }, ['task_id']),
  none: objectOf({}),
  upload: objectOf(
    {
      path: {
        type: 'string',
        description: 'A picture or video of this machine, as an absolute path.',
      },
    },
    ['path'],
  ),
} as const;
