import type { FastifySchema } from 'fastify';
import { ApiError, type ERROR_STATUS, type ErrorDetails } from '../../kernel/errors.ts';
import { consequenceOf } from '../../requests/errors.ts';
import { EXAMPLE_NEW_TASK, EXAMPLE_TASK } from '../public/schemas.ts';

/** An error envelope response, as made by errorResponses. */
interface ErrorResponse {
  description: string;
  properties: { error: { properties: { code: { enum: Array<keyof typeof ERROR_STATUS> } } } };
}

/** Example errors of an operation, as part of its schema in openapi.json. */
export function exampleErrors(response: ErrorResponse, operation: FastifySchema): object {
  // A status with several codes shows an example of the first.
  const [code = 'internal_error'] = response.properties.error.properties.code.enum;
  const isCreate = operation.operationId === 'createVideo';
  const isUpload = operation.consumes !== undefined;
  // Several named examples: the generator of openapi.json takes these from x-examples only.
  if (code === 'invalid_request' && !isCreate && !isUpload) {
    return { 'x-examples': INVALID_REQUESTS };
  }
  const { message = response.description, details } =
    code === 'invalid_request' ? invalidFile(isCreate) : detailsOf(code, isCreate);
  const all = isCreate
    ? { ...details, ...consequenceOf(new ApiError(code, message, { ...(details && { details }) })) }
    : details;
  return { examples: [{ error: { code, message, ...(all && { details: all }) } }] };
}

interface Example {
  message?: string;
  details?: ErrorDetails;
}

function detailsOf(code: keyof typeof ERROR_STATUS, isCreate: boolean): Example {
  switch (code) {
    case 'insufficient_credits':
      return { details: { required_credits: 240 } };
    case 'not_cancellable':
      return { details: { reason: 'ended', task: EXAMPLE_TASK } };
    case 'no_output':
      return { details: { task: EXAMPLE_NEW_TASK } };
    case 'upload_in_use':
      return { details: { task_id: EXAMPLE_NEW_TASK.id } };
    case 'service_busy':
      return isCreate ? { details: { task_id: EXAMPLE_TASK.id, credits: 'held' } } : {};
    default:
      return {};
  }
}

const FIELD = 'reference_image_urls';
const MESSAGE = 'The host responded with HTTP status 404';
const MEASURED = { reason: 'not_reachable', http_status: 404 };
const INPUT = { field: FIELD, index: 0, message: MESSAGE, ...MEASURED };
const REFUSED_FILE = {
  message: `${FIELD}[0]: ${MESSAGE}`,
  details: {
    field: FIELD,
    entry: 0,
    ...MEASURED,
    inputs: [INPUT],
    task_id: EXAMPLE_TASK.id,
    credits: 'refunded',
  },
};

function invalidFile(isCreate: boolean): Example {
  if (isCreate) return REFUSED_FILE;
  const details = { field: 'file', reason: 'not_media' };
  return { message: 'Upload an image or a video, with its Content-Type.', details };
}

const invalid = (field: string, reason: string, message: string) => {
  return { value: { error: { code: 'invalid_request', message, details: { field, reason } } } };
};

/** An invalid body, path and query; all operations show the same three. */
const INVALID_REQUESTS = {
  body: invalid('colour', 'unknown_property', '"colour" is not a known property.'),
  path: invalid('id', 'malformed', 'id is not valid.'),
  query: invalid('cursor', 'malformed', 'The cursor is not one of this list.'),
};
