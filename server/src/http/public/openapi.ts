import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { type FastifySchema, fastify } from 'fastify';
import { exampleError } from '../example-errors.ts';
import { ENDPOINTS, PUBLIC_API } from './public-api.ts';

/** The OpenAPI document of all endpoints. It is made without a database or a running service. */
export async function describePublicApi(): Promise<object> {
  const app = fastify();
  await app.register(swagger, openApiOptions());
  for (const { description } of ENDPOINTS) {
    const url = PUBLIC_API.prefix + description.url;
    app.route({ ...description, url, handler: refuseToServe });
  }
  await app.ready();
  const document = app.swagger();
  await app.close();
  return document;
}

function refuseToServe(): never {
  throw new Error('this app only describes the API');
}

/** The parts of openapi.json that are not in the schemas of the endpoints. */
export function openApiOptions(): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Framewright',
        version: '1.0.0',
        description:
          'Asynchronous video generation, paid with prepaid credits. ' +
          'Create a task, then read it until it is completed or failed.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This service' }],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: fw_live_...' },
        },
      },
      security: [{ apiKey: [] }],
    },
    transform: ({ schema, url }) => ({ schema: withHeadersAndErrors(schema), url }),
  };
}

const REQUEST_ID = {
  'X-Request-Id': {
    type: 'string',
    pattern: '^req_[0-9A-Za-z]+$',
    description: 'Unique to this request. Give it to the operator when you report a problem.',
  },
};
const RATE_LIMIT = {
  RateLimit: {
    type: 'string',
    description:
      '`"default";r=29;t=60`: 29 more requests pass in the next 60 seconds; then the oldest ' +
      'request leaves the rate window.',
  },
  'RateLimit-Policy': { type: 'string', description: '30 requests in 60 seconds, per API key.' },
};
const CHALLENGE = { 'WWW-Authenticate': { type: 'string', enum: ['Bearer'] } };
const RETRY_AFTER = {
  'Retry-After': {
    type: 'integer',
    minimum: 1,
    description: 'Whole seconds to wait before the next request.',
  },
};
const REPLAYED = {
  'Idempotent-Replayed': {
    type: 'string',
    enum: ['true'],
    description: 'An earlier request with this Idempotency-Key created the task.',
  },
};

const PREFERENCE = {
  'Preference-Applied': {
    type: 'string',
    description: 'With Prefer: wait=N: how long the response was willing to wait for the end.',
  },
};
const CACHED = {
  ETag: { type: 'string', description: 'Send it as If-None-Match: 304 means it is unchanged.' },
  'Cache-Control': { type: 'string', description: 'How long the response may be used again.' },
};

/** Adds to each response the headers that clients can rely on, and to each error an example. */
function withHeadersAndErrors(schema: FastifySchema): FastifySchema {
  if (schema.response === undefined) return schema;
  const { operationId = '' } = schema;
  const responses = Object.entries(Object(schema.response)).map(([status, response]) => {
    const examples =
      Number(status) < 400 ? {} : { examples: [exampleError(Object(response), schema)] };
    const headers = headersOf(Number(status), operationId);
    return [status, { ...Object(response), ...examples, headers }];
  });
  return { ...schema, response: Object.fromEntries(responses) };
}

function headersOf(status: number, operationId: string): object {
  return {
    ...REQUEST_ID,
    ...(operationId === 'listModels' || status === 401 ? {} : RATE_LIMIT),
    ...(operationId === 'createGeneration' && status === 200 ? REPLAYED : {}),
    ...(operationId === 'getTask' && status === 200 ? PREFERENCE : {}),
    ...(operationId === 'listModels' ? CACHED : {}),
    ...(status === 401 ? CHALLENGE : {}),
    ...(status === 429 || status === 503 ? RETRY_AFTER : {}),
  };
}
