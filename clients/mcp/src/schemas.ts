import { readFileSync } from 'node:fs';
import type { JsonSchemaType } from '@modelcontextprotocol/server';

// The input of each tool. What the API defines comes from openapi.json.

interface Input {
  properties: Record<string, unknown>;
  required?: string[];
}

const OPERATIONS: {
  inputs: Record<'createVideo' | 'createQuote' | 'listTasks', Input>;
  results: Record<ResultName, { properties: object }>;
} = JSON.parse(readFileSync(new URL('operations.json', import.meta.url), 'utf8'));

export type ResultName =
  | 'VideoTask'
  | 'TaskList'
  | 'Quote'
  | 'CancelResult'
  | 'CreditBalance'
  | 'Upload';

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
  pattern: '^[a-zA-Z0-9_-]+$', // no dots: of an address, they would name another one
  description: 'The task_id that generate_video or list_videos returned.',
};

/** A schema of JSON text: what openapi.json says is one. */
function objectOf(properties: object, required: string[] = []): JsonSchemaType {
  const schema = { type: 'object', properties, required, additionalProperties: false };
  return schema as JsonSchemaType;
}

/** Members of the data of an error. */
const ERROR = {
  code: { type: 'string', description: 'Why the call was refused' },
  message: { type: 'string', description: 'The same as a sentence' },
  charged: { type: 'string', description: 'no, refunded, or reserved, also if it is not known' },
  retry: { type: 'string', description: 'same_key and new_key are of the request_id; never' },
  task_id: { type: 'string', description: 'The task that the call is about' },
  request_id: { type: 'string', description: 'Of generate_video' },
  retry_after_seconds: { type: 'number', description: 'When the next call passes' },
  credits: { type: 'integer', description: 'The price' },
  max_credits: { type: 'integer', description: 'What generate_video was allowed' },
  x_request_id: { type: 'string', description: 'For a report to the operator' },
};

/** The data of a tool. Clients compare that of an error with it, too, so nothing is required. */
export const resultSchema = (name: ResultName): JsonSchemaType =>
  ({
    type: 'object',
    properties: { ...ERROR, ...OPERATIONS.results[name].properties },
  }) as JsonSchemaType;

const { createVideo: GENERATION, createQuote, listTasks } = OPERATIONS.inputs;

export const SCHEMAS = {
  generate: objectOf(
    { request_id: REQUEST_ID, max_credits: MAX_CREDITS, ...GENERATION.properties },
    ['request_id', ...(GENERATION.required ?? [])],
  ),
  quote: objectOf(createQuote.properties, createQuote.required),
  list: objectOf(listTasks.properties),
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
