import type { FastifyInstance } from 'fastify';
import { openAdmission } from '../../accounts/admission.ts';
import { KEY_POLICY, openKeyGate } from '../../accounts/key-gate.ts';
import { acceptJsonOnly } from '../../requests/bodies.ts';
import { rateLimitHeaders } from '../../requests/errors.ts';
import type { WebhookDeps } from '../../requests/webhook-requests.ts';
import { API_SURFACE } from '../../tasks/create/new-task.ts';
import { type CreateGenerationDeps, createGeneration } from './create-generation.ts';
import { createQuote } from './create-quote.ts';
import { getCredits, refillTest } from './credits.ts';
import { cancelTaskOfCaller, deleteOutputOfCaller } from './end-task.ts';
import type { Admit, Endpoint, PublicRoute } from './endpoint.ts';
import { getTask, getTaskLedger } from './get-task.ts';
import { listModels } from './list-models.ts';
import { listTasksOfCaller } from './list-tasks.ts';
import {
  createPresignedUpload,
  createUpload,
  deleteUploadOfCaller,
  type UploadEndpointDeps,
} from './uploads.ts';
import { WEBHOOK_OPERATIONS } from './webhooks.ts';

type EndpointDeps = CreateGenerationDeps & UploadEndpointDeps & WebhookDeps;

export type PublicApiDeps = Omit<EndpointDeps, 'gate'> & {
  /** Called for each admitted request, with the client's address. */
  onAdmitted?: ((keyId: string, address: string) => void) | undefined;
};

export const API_PREFIX = '/api/v1';

/** All operations, in the order of openapi.json. */
export const ENDPOINTS: Endpoint<EndpointDeps>[] = [
  createGeneration,
  createQuote,
  getTask,
  listTasksOfCaller,
  getTaskLedger,
  cancelTaskOfCaller,
  deleteOutputOfCaller,
  getCredits,
  refillTest,
  listModels,
  createUpload,
  createPresignedUpload,
  deleteUploadOfCaller,
  ...WEBHOOK_OPERATIONS,
];

/**
 * The plugin of the versioned API. Unless its route is public, each request is authenticated and
 * counted in its API key's rate window before its body is read (C7); then the body must be JSON.
 * app.ts adds the request id, `no-store` and the error envelope.
 */
export function publicApi(
  api: FastifyInstance,
  { deps }: { deps: PublicApiDeps },
  done: () => void,
): void {
  acceptJsonOnly(api);
  const gate = openKeyGate(deps.db);
  const admitOnly = openAdmission(gate, 'admit');
  const admitByDefault: Admit = async ({ headers: { authorization } }, surface) => {
    const { caller } = await admitOnly({ authorization, surface });
    return caller;
  };
  api.decorateRequest('caller');
  api.addHook<PublicRoute>('onRequest', async (request, reply) => {
    const { admit = admitByDefault, isPublic } = request.routeOptions.config;
    if (isPublic) return;
    request.caller = await admit(request, API_SURFACE);
    reply.headers(rateLimitHeaders(KEY_POLICY, request.caller));
    deps.onAdmitted?.(request.caller.keyId, request.ip);
  });
  for (const endpoint of ENDPOINTS) endpoint.serve(api, { ...deps, gate });
  done();
}
