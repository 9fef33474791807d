import type { FastifyReply, FastifySchema } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { storable } from '../../database/json-text.ts';
import { limitSchema, type RouteName } from '../../requests/routes.ts';
import {
  makeWebhook,
  NewWebhookSchema,
  requirePublic,
  type WebhookDeps,
} from '../../requests/webhook-requests.ts';
import {
  type ActingOwner,
  deleteEndpoint,
  listEndpoints,
  readEndpoint,
  replaceSecret,
  updateEndpoint,
} from '../../webhooks/endpoints.ts';
import { listDeliveries, sendAgain, sendTest } from '../../webhooks/log.ts';
import { callerOf, endpoint, ID_CHARACTERS } from './endpoint.ts';
import { errorResponses, shown } from './schemas.ts';
import {
  DeliveryListSchema,
  EXAMPLE_DELIVERY,
  EXAMPLE_SECRET,
  EXAMPLE_WEBHOOK,
  UpdateBodySchema,
  WebhookListSchema,
  WebhookSchema,
  WebhookWithSecretSchema,
} from './webhook-shapes.ts';

/** An operation's input. */
interface Call<Body, Query> {
  owner: ActingOwner;
  /** From the path; '' if it has none. */
  id: string;
  eventId: string;
  body: Body;
  query: Query;
  reply: FastifyReply;
}

interface Operation<Body extends TSchema, Query extends TSchema> {
  operationId: string;
  summary: string;
  body?: Body;
  querystring?: Query;
  response: object;
  status?: 200 | 201 | 202 | 204;
  handle(deps: WebhookDeps, call: Call<Static<Body>, Static<Query>>): Promise<unknown>;
}

const PARAMETERS: Record<string, { title: string; description: string }> = {
  id: { title: 'WebhookId', description: 'The id of an endpoint of this account' },
  eventId: { title: 'EventId', description: 'The event_id of a delivery' },
};

function paramsOf(name: RouteName): FastifySchema {
  const schemas = Array.from(name.matchAll(/:(\w+)/g), ([, parameter = '']) => {
    return [parameter, Type.String({ maxLength: ID_CHARACTERS, ...PARAMETERS[parameter] })];
  });
  return schemas.length === 0 ? {} : { params: Type.Object(Object.fromEntries(schemas)) };
}

/** An operation on the endpoints of the caller's account and mode. */
function operation<Body extends TSchema = TSchema, Query extends TSchema = TSchema>(
  name: RouteName,
  { status = 200, response, handle, ...schema }: Operation<Body, Query>,
) {
  return endpoint<WebhookDeps>(name, {
    ...schema,
    ...paramsOf(name),
    response: {
      [status]: response,
      ...errorResponses(400, 401, 429, 503),
      ...(name.includes(':id') && errorResponses(404)),
      ...(!name.startsWith('GET') && errorResponses(413)),
    },
    serve: (deps) => ({
      handler: async (request, reply) => {
        const { id = '', eventId = '' } = request.params;
        const { accountId, surface, keyId } = callerOf(request);
        const mode = surface === 'test' ? 'test' : 'live';
        const owner = { accountId, mode, by: `the API key ${keyId}` } as const;
        // Validated by the schemas.
        const { body, query } = request as { body: Static<Body>; query: Static<Query> };
        const ids = { id: storable(id), eventId: storable(eventId) };
        reply.code(status);
        return handle(deps, { owner, ...ids, body, query, reply });
      },
    }),
  });
}

const withSecret = (description: string) =>
  shown(description, WebhookWithSecretSchema, { ...EXAMPLE_WEBHOOK, ...EXAMPLE_SECRET });
const THE_ENDPOINT = shown('The endpoint.', WebhookSchema, EXAMPLE_WEBHOOK);
const EventIdSchema = Type.Object(
  { event_id: Type.String({ description: 'The event, as in the header webhook-id' }) },
  { title: 'WebhookEventId' },
);
const SENT_SOON = {
  status: 202,
  response: shown(
    'It is sent within seconds, or only logged if the endpoint has no URL.',
    EventIdSchema,
    { event_id: EXAMPLE_DELIVERY.event_id },
  ),
} as const;

/** All operations on webhooks, in the order of openapi.json. */
export const WEBHOOK_OPERATIONS = [
  operation('GET /webhooks', {
    operationId: 'listWebhooks',
    summary: 'List the webhook endpoints',
    response: shown('All endpoints, the oldest first.', WebhookListSchema, {
      data: [EXAMPLE_WEBHOOK],
    }),
    handle: async ({ db }, { owner: { accountId, mode } }) => {
      return { data: await listEndpoints(db, accountId, mode) };
    },
  }),
  operation('POST /webhooks', {
    operationId: 'createWebhook',
    summary: 'Make a webhook endpoint',
    body: NewWebhookSchema,
    status: 201,
    response: withSecret('The endpoint with its secret.'),
    handle: (deps, { owner, body }) => makeWebhook(deps, owner, body),
  }),
  operation('GET /webhooks/:id', {
    operationId: 'getWebhook',
    summary: 'Read a webhook endpoint',
    response: THE_ENDPOINT,
    handle: ({ db }, { owner, id }) => readEndpoint(db, owner, id),
  }),
  operation('PATCH /webhooks/:id', {
    operationId: 'updateWebhook',
    summary: 'Change, disable or enable a webhook endpoint',
    body: UpdateBodySchema,
    response: THE_ENDPOINT,
    handle: async ({ db, webhookHosts }, { owner, id, body }) => {
      if (body.url !== undefined) requirePublic(body.url, webhookHosts);
      return updateEndpoint(db, owner, id, body);
    },
  }),
  operation('DELETE /webhooks/:id', {
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook endpoint and its log',
    status: 204,
    response: { description: 'Nothing is sent to it any more.', type: 'null' },
    handle: async ({ db }, { owner, id, reply }) => {
      await deleteEndpoint(db, owner, id);
      return reply.send();
    },
  }),
  operation('POST /webhooks/:id/secret', {
    operationId: 'replaceWebhookSecret',
    summary: 'Give a webhook endpoint a new secret; for a day, the old one also signs',
    response: withSecret('The endpoint with its new secret.'),
    handle: ({ db }, { owner, id }) => replaceSecret(db, owner, id),
  }),
  operation('GET /webhooks/:id/deliveries', {
    operationId: 'listWebhookDeliveries',
    summary: 'List what was sent to a webhook endpoint in the last 30 days',
    querystring: Type.Object(
      {
        limit: limitSchema({ default: 20, description: 'Deliveries per page' }),
        cursor: Type.Optional(
          Type.String({
            pattern: '^[0-9]{1,15}$',
            description: 'The next_cursor of the previous page',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: shown('A page of deliveries.', DeliveryListSchema, {
      data: [EXAMPLE_DELIVERY],
      next_cursor: null,
    }),
    handle: ({ db }, { owner, id, query }) => {
      const { cursor, limit = 20 } = query;
      const before = cursor === undefined ? null : Number(cursor);
      return listDeliveries(db, owner, { endpointId: id, before, limit });
    },
  }),
  operation('POST /webhooks/:id/deliveries/:eventId/send', {
    operationId: 'sendWebhookAgain',
    summary: 'Send an event to a webhook endpoint again, with the same id',
    ...SENT_SOON,
    handle: async ({ db }, { owner, id, eventId }) => {
      await sendAgain(db, owner, { endpointId: id, eventId });
      return { event_id: eventId };
    },
  }),
  operation('POST /webhooks/:id/test', {
    operationId: 'testWebhook',
    summary: 'Send a test event to a webhook endpoint',
    ...SENT_SOON,
    handle: async ({ db }, { owner, id }) => ({ event_id: await sendTest(db, owner, id) }),
  }),
];
