import { type Static, Type } from 'typebox';
import type { Database } from '../database/database.ts';
import { invalidRequest } from '../kernel/errors.ts';
import { checkUrl, type HostRules } from '../outbound/addresses.ts';
import { OutboundError } from '../outbound/refusal.ts';
import { type ActingOwner, createEndpoint } from '../webhooks/endpoints.ts';
import { EVENT_TYPES } from '../webhooks/events.ts';

export interface WebhookDeps {
  db: Database;
  webhookHosts: HostRules;
}

export const WEBHOOK_FIELDS = {
  url: Type.String({
    format: 'uri',
    maxLength: 2048,
    description: 'A public https address that takes a POST; without it, events are only logged',
  }),
  events: Type.Array(Type.Enum([...EVENT_TYPES]), {
    minItems: 1,
    maxItems: EVENT_TYPES.length,
    uniqueItems: true,
    description: 'The events that it gets',
  }),
  description: Type.String({
    maxLength: 200,
    pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$',
    description: 'What its owner calls it, without control characters',
  }),
};

export const NewWebhookSchema = Type.Object(
  {
    url: Type.Optional(WEBHOOK_FIELDS.url),
    events: WEBHOOK_FIELDS.events,
    description: Type.Optional(WEBHOOK_FIELDS.description),
  },
  {
    title: 'WebhookEndpointRequest',
    additionalProperties: false,
    examples: [{ url: 'https://example.com/framewright', events: ['task.completed'] }],
  },
);

/** @throws ApiError `invalid_request` */
export async function makeWebhook(
  { db, webhookHosts }: WebhookDeps,
  owner: ActingOwner,
  body: Static<typeof NewWebhookSchema>,
) {
  const { url = null, events, description = '' } = body;
  if (url !== null) requirePublic(url, webhookHosts);
  return createEndpoint(db, owner, { url, events, description: description || null });
}

/** @throws ApiError `invalid_request` unless the endpoint's URL may be called */
export function requirePublic(url: string, hosts: HostRules): void {
  try {
    checkUrl(url, hosts, { plainHttpWhereAllowed: true });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw invalidRequest(`url: ${error.message}.`, { field: 'url', reason: error.reason }, error);
  }
}
