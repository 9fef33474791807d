import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type CallbackDeps, type CallbackResult, receiveCallback } from '../attempts/callback.ts';
import { ApiError } from '../kernel/errors.ts';
import { acceptBytes } from '../requests/bodies.ts';
import { noSuchPath } from '../requests/errors.ts';

interface CallbackRequest {
  Params: { provider: string; segment: string };
}

export interface CallbackRouteDeps extends CallbackDeps {
  onCallback?: ((provider: string, result: CallbackResult | 'failed') => void) | undefined;
}

/**
 * POST /callbacks/{provider}/{attempt and token}: receives the callbacks of providers. Responds 200
 * once the callback is on record, 404 to an unknown path, 400 to a forged callback, and 503 if the
 * callback can't be checked or recorded, so that the provider sends it again.
 */
export async function callbackRoute(app: FastifyInstance, deps: CallbackRouteDeps): Promise<void> {
  acceptBytes(app, 'callback'); // providers may send the whole job in it
  app.post<CallbackRequest>(
    '/callbacks/:provider/:segment',
    {
      onRequest: async ({ params: { provider, segment } }) => {
        if (deps.links.attemptOf(provider, segment) === undefined) throw noSuchPath();
      },
    },
    async (request) => {
      const { provider } = request.params;
      const result = await receiveRequest(deps, request).catch((cause: unknown) => {
        deps.onCallback?.(provider, 'failed');
        const options = { cause, retryAfterSeconds: 30 };
        throw new ApiError('service_busy', 'Send the callback again later.', options);
      });
      deps.onCallback?.(provider, result);
      if (result === 'no_such_path') throw noSuchPath();
      if (result === 'forged') {
        throw new ApiError('invalid_request', 'The callback could not be verified.');
      }
      return { received: true };
    },
  );
}

function receiveRequest(
  deps: CallbackDeps,
  request: FastifyRequest<CallbackRequest>,
): Promise<CallbackResult> {
  const entries = Object.entries(request.headers);
  const headers = Object.fromEntries(entries.map(([name, value]) => [name, value?.toString()]));
  const body = Buffer.isBuffer(request.body) ? request.body : new Uint8Array();
  return receiveCallback(deps, { ...request.params, body, headers });
}
