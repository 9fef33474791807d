import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { countRequest } from '../../accounts/rate-window.ts';
import {
  checkRequest,
  GenerationBodySchema,
  type GenerationRequest,
} from '../../catalog/request.ts';
import { requireIdempotencyKey } from '../../http/public/idempotency-key.ts';
import { inRequest, spanOf } from '../../http/request-spans.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { HostRules } from '../../outbound/addresses.ts';
import { readCreateClosures } from '../../providers/host/outages.ts';
import type { FreeSpace } from '../../storage/free-space.ts';
import type { Links } from '../../storage/links.ts';
import { type Binding, WEB_SURFACE } from '../../tasks/create/checked-request.ts';
import { createUnlessClosed, createWithSpace } from '../../tasks/create/closed.ts';
import {
  type CreateDeps,
  type Created,
  createTask,
  readBoundKey,
  replay,
} from '../../tasks/create/create.ts';
import { fingerprintOf, type Json } from '../../tasks/create/fingerprint.ts';
import { readOwned } from '../../tasks/owned.ts';
import { requireUploads } from '../../tasks/uploads/uploads.ts';
import { report } from '../../telemetry/reports.ts';
import { type SiteRoute, sessionOf, siteRoute } from '../route.ts';
import { type WebTask, webTask } from './web-task.ts';

export interface GenerationDeps extends CreateDeps {
  links: Links;
  clientHosts: HostRules;
  space: FreeSpace;
}

/** Creates of an account on the website, beside those of its API keys. */
const CREATES = { max: 30, seconds: 60 };

const bindings = new WeakMap<FastifyRequest, Binding>();

/**
 * POST /console/api/generations: what POST /video/generations of the public API does, for the
 * account that is signed in, in the same order and with the same errors. It does not wait, so the
 * task is announced at once (C2). Media fields take uploads of the account as well.
 */
export const createWebGeneration: SiteRoute<
  GenerationDeps,
  {
    url: '/console/api/generations';
    method: 'POST';
    body: Partial<GenerationRequest>;
    query: undefined;
    result: WebTask;
  }
> = {
  serve(scope, deps) {
    scope.route<{ Body: GenerationRequest }>({
      method: 'POST',
      url: '/console/api/generations',
      schema: { hide: true, body: GenerationBodySchema },
      config: { access: 'session' },
      preValidation: async (request, reply) => {
        const binding = bindingOf(request);
        await countRequest(deps.db, `creates:${binding.accountId}`, CREATES);
        bindings.set(request, binding);
        const known = await readBoundKey(deps.db, binding);
        const task = known && (await replay(deps.db, known, binding.fingerprint));
        if (task) return send(reply, { kind: 'replayed', task }, deps);
      },
      handler: async (request, reply) => send(reply, await create(request, deps), deps),
    });
  },
};

/** With the fingerprint of the body as sent, before it gets its defaults. */
function bindingOf(request: FastifyRequest): Binding {
  const idempotencyKey = requireIdempotencyKey(request);
  const { accountId } = sessionOf(request);
  const fingerprint = fingerprintOf(request.body as Json);
  const traceparent = spanOf(request)?.traceparent;
  const requestId = request.id;
  return { accountId, surface: WEB_SURFACE, idempotencyKey, fingerprint, traceparent, requestId };
}

async function create(
  request: FastifyRequest<{ Body: GenerationRequest }>,
  deps: GenerationDeps,
): Promise<Created> {
  const { body } = request;
  const binding = bindings.get(request);
  if (!binding) throw new Error('the check of the Idempotency-Key did not run');
  const price = checkRequest(body, deps.clientHosts, { acceptsUploads: true });
  await requireUploads(deps.db, binding.accountId, body);
  const { db, providerName } = deps;
  const closures = await readCreateClosures(db, providerName);
  const created = await createUnlessClosed(db, providerName, closures, () =>
    createWithSpace(deps.space, body, () =>
      createTask({ ...deps, createWaitSeconds: 0 }, { binding, request: body, price }),
    ),
  );
  if (created.kind === 'created') {
    report('credits', { movement: 'reserve', credits: price.credits });
  }
  return created;
}

function send(reply: FastifyReply, { kind, task }: Created, deps: GenerationDeps): FastifyReply {
  const { request } = reply;
  spanOf(request)?.set({ 'task.id': task.id });
  inRequest(request, () => deps.log.info({ request: request.id, task: task.id }, `${kind} a task`));
  if (kind === 'replayed') reply.header('idempotent-replayed', 'true');
  return reply.code(kind === 'created' ? 202 : 200).send(webTask(task, deps.links));
}

/** GET /console/api/generations/{id}: a task of the account, of any surface, to follow it. */
export const getWebGeneration = siteRoute({
  method: 'GET',
  url: '/console/api/generations/:id',
  params: Type.Object({ id: Type.String({ maxLength: 120 }) }),
  handle: async (deps: Pick<GenerationDeps, 'db' | 'links'>, call): Promise<WebTask> => {
    const { accountId } = sessionOf(call.request);
    const task = await readOwned(deps.db, { accountId, id: call.params.id });
    if (!task) throw new ApiError('not_found', 'This account has no task with this id.');
    return webTask(task, deps.links);
  },
});
