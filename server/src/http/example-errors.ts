import type { FastifySchema } from 'fastify';
import { ApiError, type ERROR_STATUS, type ErrorDetails } from '../kernel/errors.ts';
import { consequenceOf } from './create-errors.ts';
import { EXAMPLE_NEW_TASK, EXAMPLE_TASK } from './public/schemas.ts';

/** A response of an operation that is an error envelope, as errorResponses makes it. */
interface ErrorResponse {
  description: string;
  properties: { error: { properties: { code: { enum: Array<keyof typeof ERROR_STATUS> } } } };
}

/** An error that the operation can respond with, for openapi.json. */
export function exampleError(response: ErrorResponse, operation: FastifySchema): object {
  const [code = 'internal_error'] = response.properties.error.properties.code.enum;
  const isCreate = operation.operationId === 'createGeneration';
  const { message = response.description, details } =
    code === 'invalid_request' ? invalidRequest(operation) : detailsOf(code, isCreate);
  const all = isCreate
    ? { ...details, ...consequenceOf(new ApiError(code, message, { ...(details && { details }) })) }
    : details;
  return { error: { code, message, ...(all && { details: all }) } };
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

function invalidRequest(operation: FastifySchema): Example {
  const { operationId, body, querystring, consumes } = operation;
  if (operationId === 'createGeneration') return REFUSED_FILE;
  if (consumes !== undefined) {
    const details = { field: 'Content-Type', reason: 'not_media' };
    return { message: 'Content-Type must be image/... or video/...', details };
  }
  if (body !== undefined) {
    const details = { field: 'colour', reason: 'unknown_property' };
    return { message: '"colour" is not a known property.', details };
  }
  const field = querystring === undefined ? 'id' : 'cursor';
  return { message: `${field} is not valid.`, details: { field, reason: 'malformed' } };
}
