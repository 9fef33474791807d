// The room routing/: which connections (accounts at providers) take a model's tasks, in which
// order, and what they charge.

import type { GenerationRequest } from '../catalog/request.ts';
import type { Database } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import type { HostedProvider } from '../providers/provider.ts';
import { meets, type Route, type RouteStep, stepsFor } from './route.ts';
import { listRoutes } from './stored-routes.ts';

const FOLLOW_SECONDS = 1;

const UNROUTED: Route = { choice: 'order', steps: [] };

export type Routing = ReturnType<typeof createRouting>;

/** Chooses the connections for tasks by the stored routes (decisions/0065), read each second. */
export function createRouting(deps: {
  db: Database;
  log: Log;
  /** The connections by name. */
  providers: ReadonlyMap<string, HostedProvider>;
  /** The connection PROVIDER, which takes the tasks of models without a route. */
  defaultConnection: string;
}) {
  const { db, log, providers } = deps;
  const byDefault: Route = { choice: 'order', steps: [{ connection: deps.defaultConnection }] };
  let routes = new Map<string, Route>();
  const refresh = async () => {
    routes = new Map((await listRoutes(db)).map((route) => [route.model, route]));
  };
  const routeOf = (model: string) => routes.get(model) ?? byDefault;
  const canServe = (request: GenerationRequest) => {
    return ({ connection, model_id: modelId }: RouteStep) => {
      const provider = providers.get(connection);
      return provider !== undefined && (provider.canServe?.(request, modelId) ?? true);
    };
  };
  return {
    /** Reads the routes at once and then each second, until the signal aborts. */
    async follow(signal: AbortSignal) {
      await refresh();
      startInterval(FOLLOW_SECONDS, { name: 'following routes', log, signal }, refresh);
    },
    /** The names of the connections that can make the video, the first to try first. */
    connectionsFor(request: GenerationRequest): string[] {
      const choice = { canServe: canServe(request), random: Math.random };
      return namesOf(stepsFor(routeOf(request.model), request, choice));
    },
    /** The same in the order of the steps: nothing is drawn, and canaries are a last resort. */
    usualConnectionsFor(request: GenerationRequest): string[] {
      const { steps } = routeOf(request.model);
      const inOrder: Route = { choice: 'order', steps };
      return namesOf(stepsFor(inOrder, request, { canServe: canServe(request), random: () => 1 }));
    },
    /**
     * The next connection for a task that none of `tried` accepted. Undefined if there is none, or
     * if the model has no route: the task then stays where it is, even if PROVIDER was changed.
     */
    next(request: GenerationRequest, tried: readonly string[]): string | undefined {
      const { choice, steps } = routes.get(request.model) ?? UNROUTED;
      const regular = steps.filter(
        ({ connection, share }) => share === undefined && !tried.includes(connection),
      );
      const rest = { canServe: canServe(request), random: Math.random };
      return stepsFor({ choice, steps: regular }, request, rest)[0]?.connection;
    },
    /**
     * The provider's own id of the model; undefined: the one that the adapter knows. If the route
     * has changed since the task came here, an id that the connection can't serve is skipped.
     */
    modelIdOf(request: GenerationRequest, connection: string): string | undefined {
      const isAble = canServe(request);
      const { steps } = routeOf(request.model);
      const isItsStep = (step: RouteStep) =>
        step.connection === connection && meets(step, request) && isAble(step);
      return steps.find(isItsStep)?.model_id;
    },
  };
}

function namesOf(steps: RouteStep[]): string[] {
  return [...new Set(steps.map(({ connection }) => connection))];
}
