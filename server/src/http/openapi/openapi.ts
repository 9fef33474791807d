import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { type FastifySchema, fastify } from 'fastify';
import { BUILT_IN, type Catalog, offeredNames } from '../../catalog/catalog.ts';
import { withModels } from '../../catalog/model-schema.ts';
import { modelsResponse } from '../public/list-models.ts';
import { API_PREFIX, ENDPOINTS } from '../public/public-api.ts';
import { ErrorSchema } from '../public/schemas.ts';
import { WebhookEventSchema } from '../public/webhook-shapes.ts';
import { withComponents } from './components.ts';
import { exampleErrors } from './example-errors.ts';
import { LINKS } from './links.ts';

/**
 * Builds the OpenAPI document of all endpoints, with the models that a catalog offers at the given
 * time. Needs no database and no running service.
 */
export async function describePublicApi(
  catalog: Catalog,
  at: Date,
  title: string,
): Promise<object> {
  const app = fastify();
  await app.register(swagger, openApiOptions(title));
  for (const { description } of ENDPOINTS) {
    const url = API_PREFIX + description.url;
    const { operationId = '', response } = description.schema;
    const links = LINKS[operationId] ?? {};
    const models = { ...Object(response), 200: modelsResponse(catalog, at) };
    const schema = {
      ...description.schema,
      ...(operationId === 'listModels' && { response: models }),
    };
    app.route({ ...description, schema, url, links, handler: refuseToServe });
  }
  await app.ready();
  const document = { ...app.swagger(), webhooks: WEBHOOKS };
  await app.close();
  return withCatalog(withComponents(document), catalog);
}

/** With added models, any text can be a task's model: it may be a hidden or retired one. */
function withCatalog(document: object, catalog: Catalog): object {
  if (catalog.models.length > BUILT_IN.models.length) {
    delete Object(document).components.schemas.VideoTask.properties.model.enum;
  }
  return withModels(document, offeredNames(catalog));
}

function refuseToServe(): never {
  throw new Error('this app only describes the API');
}

/** The parts of openapi.json that are not in the schemas of the endpoints. */
function openApiOptions(title: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        version: '1.0.0',
        description:
          'Asynchronous video generation, paid with prepaid credits. ' +
          'Create a task, then read it until it is completed or failed.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: TAGS.map(({ name, description }) => ({ name, description })),
      components: {
        schemas: { Error: Object(ErrorSchema) },
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            description:
              'An API key: fw_live_..., or fw_test_... for test tasks, which cost nothing.',
          },
        },
      },
      security: [{ apiKey: [] }],
    },
    transform: ({ schema, url }) => ({ schema: withHeadersAndErrors(schema, url), url }),
  };
}

/** The operation groups and their path prefixes. */
const TAGS = [
  { name: 'Videos', path: '/video/', description: 'Create a video, or read what it would cost.' },
  { name: 'Tasks', path: '/tasks', description: 'Read, list, cancel; the movements of credits.' },
  { name: 'Credits', path: '/credits', description: 'The balance.' },
  { name: 'Models', path: '/models', description: 'Models, prices and the limits of requests.' },
  { name: 'Uploads', path: '/uploads', description: 'Files for the media fields of a create.' },
  { name: 'Webhooks', path: '/webhooks', description: 'Endpoints, and what was sent to them.' },
  { name: 'Test keys', path: '/test-credits', description: 'What only test keys (fw_test_) use.' },
];

const WEBHOOKS = {
  event: {
    post: {
      operationId: 'receiveEvent',
      summary: 'An event, sent to each webhook endpoint that has chosen it',
      tags: ['Webhooks'],
      security: [],
      parameters: [
        eventHeader('webhook-id', 'The id of the event, the same in each try.'),
        eventHeader('webhook-timestamp', 'When this try was sent, in seconds since 1970.'),
        eventHeader(
          'webhook-signature',
          'v1,SIGNATURE for each valid secret (/docs/webhooks#verify-a-signature).',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: WebhookEventSchema } },
      },
      responses: {
        '2XX': { description: 'It has arrived. It is sent again after any other response.' },
        410: { description: 'The endpoint is disabled.' },
      },
    },
  },
};

function eventHeader(name: string, description: string) {
  return { in: 'header', name, required: true, description, schema: { type: 'string' } };
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
const CHALLENGE = {
  'WWW-Authenticate': {
    type: 'string',
    enum: ['Bearer'],
    description: 'Send an API key as Authorization: Bearer KEY.',
  },
};
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
    description: 'With Prefer: wait=N: how long the service would wait for the task to end.',
  },
};
const CACHED = {
  ETag: { type: 'string', description: 'Send it as If-None-Match: 304 means it is unchanged.' },
  'Cache-Control': { type: 'string', description: 'How long the response may be used again.' },
};

/** Adds the tag, the response headers that clients can rely on, and examples of errors. */
function withHeadersAndErrors(schema: FastifySchema, url: string): FastifySchema {
  const { operationId = '' } = schema;
  const responses = Object.entries(Object(schema.response)).map(([status, response]) => {
    const examples = Number(status) < 400 ? {} : exampleErrors(Object(response), schema);
    const headers = headersOf(Number(status), operationId);
    return [status, { ...Object(response), ...examples, headers }];
  });
  const path = url.replace(API_PREFIX, '');
  const tags = TAGS.filter((tag) => path.startsWith(tag.path)).map(({ name }) => name);
  return { ...schema, tags, response: Object.fromEntries(responses) };
}

function headersOf(status: number, operationId: string): object {
  return {
    ...REQUEST_ID,
    ...(operationId === 'listModels' || status === 401 ? {} : RATE_LIMIT),
    ...(operationId === 'createVideo' && status === 200 ? REPLAYED : {}),
    ...(operationId === 'getTask' && status === 200 ? PREFERENCE : {}),
    ...(operationId === 'listModels' ? CACHED : {}),
    ...(status === 401 ? CHALLENGE : {}),
    ...(status === 429 || status === 503 ? RETRY_AFTER : {}),
  };
}
