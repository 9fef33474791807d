import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { limitSchema } from '../../requests/routes.ts';
import {
  makeWebhook,
  NewWebhookSchema,
  WEBHOOK_FIELDS,
  type WebhookDeps,
} from '../../requests/webhook-requests.ts';
import { describePlace } from '../../sign-in/proofs.ts';
import {
  type ActingOwner,
  deleteEndpoint,
  listEndpoints,
  MAX_ENDPOINTS,
  readEndpoint,
  replaceSecret,
  updateEndpoint,
} from '../../webhooks/endpoints.ts';
import { listDeliveries, sendAgain, sendTest } from '../../webhooks/log.ts';
import { ModeSchema, sessionOf, siteRoute } from '../route.ts';
import { placeOf } from '../tell-owner.ts';

const BASE = '/console/api/webhooks';

const QuerySchema = Type.Object({ mode: ModeSchema });

/** `by`: where the request came from, for mails. */
function ownerOf(request: FastifyRequest, { mode }: Pick<ActingOwner, 'mode'>): ActingOwner {
  const by = `the website, ${describePlace(placeOf(request))}`;
  return { accountId: sessionOf(request).accountId, mode, by };
}

export const WEBHOOK_ROUTES = [
  siteRoute(`GET ${BASE}`, {
    query: QuerySchema,
    handle: async ({ db }: WebhookDeps, { query: { mode }, session: { accountId } }) => {
      const items = await listEndpoints(db, accountId, mode);
      return { items, next: null, max_endpoints: MAX_ENDPOINTS };
    },
  }),
  /** The response has the secret, which is shown only once. A worker mails the owner. */
  siteRoute(`POST ${BASE}`, {
    proof: 'webhook',
    body: NewWebhookSchema,
    query: QuerySchema,
    handle: (deps: WebhookDeps, { body, query, request, reply }) => {
      reply.code(201);
      return makeWebhook(deps, ownerOf(request, query), body);
    },
  }),
  siteRoute(`GET ${BASE}/:id`, {
    query: QuerySchema,
    handle: ({ db }: WebhookDeps, { params, query, request }) =>
      readEndpoint(db, ownerOf(request, query), params.id),
  }),
  /** Unlike the API, the website can't change the URL: a new endpoint needs a proof. */
  siteRoute(`PATCH ${BASE}/:id`, {
    body: Type.Object({
      events: Type.Optional(WEBHOOK_FIELDS.events),
      description: Type.Optional(WEBHOOK_FIELDS.description),
      enabled: Type.Optional(Type.Boolean()),
    }),
    query: QuerySchema,
    handle: async ({ db }: WebhookDeps, { body, params, query, request }) =>
      updateEndpoint(db, ownerOf(request, query), params.id, body),
  }),
  siteRoute(`POST ${BASE}/:id/secret`, {
    proof: 'webhook_secret',
    query: QuerySchema,
    handle: async ({ db }: WebhookDeps, { params, query, request }) =>
      replaceSecret(db, ownerOf(request, query), params.id),
  }),
  siteRoute(`DELETE ${BASE}/:id`, {
    query: QuerySchema,
    handle: async ({ db }: WebhookDeps, { params, query, request, reply }) => {
      await deleteEndpoint(db, ownerOf(request, query), params.id);
      return reply.code(204).send();
    },
  }),
  siteRoute(`GET ${BASE}/:id/deliveries`, {
    query: Type.Object({
      mode: ModeSchema,
      limit: limitSchema(),
      cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })),
    }),
    handle: async ({ db }: WebhookDeps, { params, query, request }) => {
      const before = query.cursor === undefined ? null : Number(query.cursor);
      const page = { endpointId: params.id, before, limit: query.limit ?? 20 };
      const { data, next_cursor: next } = await listDeliveries(db, ownerOf(request, query), page);
      return { items: data, next };
    },
  }),
  siteRoute(`POST ${BASE}/:id/deliveries/:eventId/send`, {
    query: QuerySchema,
    handle: async ({ db }: WebhookDeps, { params: { id, eventId }, query, request }) => {
      await sendAgain(db, ownerOf(request, query), { endpointId: id, eventId });
      return { event_id: eventId };
    },
  }),
  siteRoute(`POST ${BASE}/:id/test`, {
    query: QuerySchema,
    handle: async ({ db }: WebhookDeps, { params, query, request }) => {
      return { event_id: await sendTest(db, ownerOf(request, query), params.id) };
    },
  }),
];
