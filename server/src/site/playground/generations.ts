import { Type } from 'typebox';
import { countRequest } from '../../accounts/rate-window.ts';
import { GenerationBodySchema, type GenerationRequest } from '../../catalog/request.ts';
import { type CreateFlowDeps, createFlow } from '../../http/create-flow.ts';
import { ApiError } from '../../kernel/errors.ts';
import { readCreateClosures } from '../../providers/host/outages.ts';
import type { Links } from '../../storage/links.ts';
import { WEB_SURFACE } from '../../tasks/create/checked-request.ts';
import { createTask, readBoundKey } from '../../tasks/create/create.ts';
import { readOwned } from '../../tasks/owned.ts';
import { type SiteRoute, sessionOf, siteRoute } from '../route.ts';
import { type WebTask, webTask } from './web-task.ts';

export interface GenerationDeps extends CreateFlowDeps {
  links: Links;
}

/** Creates of an account on the website, beside those of its API keys. */
const CREATES = { max: 30, seconds: 60 };

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
    const { db, links, providerName } = deps;
    const flow = createFlow(deps, {
      callerOf: (request) => ({ accountId: sessionOf(request).accountId, surface: WEB_SURFACE }),
      readKey: async (_request, binding) => {
        await countRequest(db, `creates:${binding.accountId}`, CREATES);
        return readBoundKey(db, binding);
      },
      closuresOf: () => readCreateClosures(db, providerName),
      acceptsUploads: true,
      create: (checked) => createTask({ ...deps, createWaitSeconds: 0 }, checked),
      awaited: async (_request, task) => task,
      shown: (task) => webTask(task, links),
    });
    scope.route<{ Body: GenerationRequest }>({
      ...flow,
      method: 'POST',
      url: '/console/api/generations',
      schema: { hide: true, body: GenerationBodySchema },
      config: { ...flow.config, access: 'session' },
    });
  },
};

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
