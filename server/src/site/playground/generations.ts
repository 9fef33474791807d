import { Type } from 'typebox';
import { countRequest } from '../../accounts/rate-window.ts';
import { GenerationBodySchema, type GenerationRequest } from '../../catalog/request.ts';
import { queryFirst } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { type CallerPause, PAUSE_OF_CALLER } from '../../moderation/account-pause.ts';
import { type Availability, availabilitySql } from '../../providers/circuit-breaker/outages.ts';
import { TEST_PROVIDER } from '../../providers/test-provider.ts';
import { type CreateFlowDeps, createFlow } from '../../requests/create-flow.ts';
import { methodAndUrl, type RouteName } from '../../requests/routes.ts';
import type { Links } from '../../storage/links.ts';
import { taskCreator } from '../../tasks/create/create.ts';
import { readBoundKey } from '../../tasks/create/idempotency-keys.ts';
import { WEB_SURFACE } from '../../tasks/create/new-task.ts';
import { ModeSchema, type SiteRoute, sessionOf, siteRoute } from '../route.ts';
import { readShownTask, type ShownTask } from '../tasks/shown-task.ts';

export interface GenerationDeps extends CreateFlowDeps {
  links: Links;
}

const AVAILABILITY = availabilitySql('$1');

const readCreateState = queryFirst<
  [provider: string, accountId: string, surface: string],
  Availability & CallerPause
>(
  'web_create_availability',
  `select ${AVAILABILITY.columns}, ${PAUSE_OF_CALLER.columns}
   from (values ($2::text, $3::text)) caller (account_id, surface)
     ${AVAILABILITY.joins} ${PAUSE_OF_CALLER.joins}`,
);

/** An account's creates on the website, per surface; API keys are counted separately. */
const CREATES = { max: 30, seconds: 60 };

/**
 * Like POST /video/generations of the public API, for the signed-in account, with the same checks
 * and errors. It does not wait, so the task is announced at once (C2).
 */
function createRoute<Name extends RouteName>(
  name: Name,
  surface: string,
): SiteRoute<
  GenerationDeps,
  { name: Name; body: Partial<GenerationRequest>; query: undefined; result: ShownTask }
> {
  return {
    serve(scope, deps) {
      const { db } = deps;
      const isTest = surface === TEST_SURFACE;
      const flow = createFlow(deps, {
        callerOf: (request) => ({ accountId: sessionOf(request).accountId, surface }),
        readKey: async (_request, binding) => {
          await countRequest(db, `${isTest ? 'test-' : ''}creates:${binding.accountId}`, CREATES);
          return readBoundKey(db, binding.accountId, surface, binding.idempotencyKey);
        },
        availabilityOf: async (request) => {
          const provider = isTest ? TEST_PROVIDER : deps.providerName;
          const row = await readCreateState(db, provider, sessionOf(request).accountId, surface);
          if (!row) throw new Error('the state for a create has no row');
          return row;
        },
        create: taskCreator({ ...deps, createWaitSeconds: 0 }),
        awaitAcceptance: async (_request, task) => task,
        view: ({ account_id, id }) => readShownTask(deps, account_id, id),
      });
      scope.route<{ Body: GenerationRequest }>({
        ...flow,
        ...methodAndUrl(name),
        schema: { body: GenerationBodySchema },
        config: { ...flow.config, access: 'session' },
      });
    },
  };
}

/** Lets a page learn whether its create has arrived. */
const getTaskOfKey = siteRoute('GET /console/api/idempotency-keys/:key', {
  query: Type.Object({ mode: ModeSchema }),
  handle: async (deps: GenerationDeps, { params, query: { mode }, session: { accountId } }) => {
    const surface = mode === 'test' ? TEST_SURFACE : WEB_SURFACE;
    const { task_id: id } = (await readBoundKey(deps.db, accountId, surface, params.key)) ?? {};
    if (!id) throw new ApiError('not_found', 'No request with this key has arrived.');
    return readShownTask(deps, accountId, id);
  },
});

export const GENERATION_ROUTES = [
  createRoute('POST /console/api/generations', WEB_SURFACE),
  createRoute('POST /console/api/test-generations', TEST_SURFACE),
  getTaskOfKey,
];
