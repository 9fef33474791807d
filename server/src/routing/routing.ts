// The room routing/: which connections (accounts at providers) take a model's tasks, in which
// order, and what they charge.

import type { GenerationRequest } from '../catalog/request.ts';
import type { Database } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import type { HostedProvider } from '../providers/provider.ts';
import {
  CHOICES,
  type Chosen,
  explore,
  meets,
  type Route,
  type RouteStep,
  stepsFor,
} from './route.ts';
import { listRoutes, type StoredRoute } from './stored-routes.ts';
import { costBy, currentTerms, type Terms } from './terms.ts';

const FOLLOW_SECONDS = 1;
const LEARN_SECONDS = 30;

/** A connection's median time of the last hour from the acceptance to the end of a job. */
export interface RecentTime {
  connection: string;
  model: string;
  resolution: string;
  seconds: number;
}

/** A model at a connection in one resolution: terms and times are known for each. */
type Offer = Omit<RecentTime, 'seconds'>;

const offerKey = ({ connection, model, resolution }: Offer) =>
  [connection, model, resolution].join(' ');

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
  readTimes(): Promise<RecentTime[]>;
  random?(): number;
}) {
  const { db, log, providers, random = Math.random } = deps;
  const defaultRoute: Route = { choice: 'order', steps: [{ connection: deps.defaultConnection }] };
  let routes = new Map<string, StoredRoute>();
  let terms: ReadonlyMap<string, Terms> = new Map();
  let times: ReadonlyMap<string, RecentTime> = new Map();
  const unknown = new Set<string>();
  const warnOfNewerChoice = ({ model, choice }: StoredRoute) => {
    if (CHOICES.includes(choice) || unknown.has(`${model} ${choice}`)) return;
    unknown.add(`${model} ${choice}`);
    log.warn({ model, choice }, 'a route has a choice of a newer version: its steps go in order');
  };
  const isUsed = (choice: Route['choice'], among: Iterable<Route>) =>
    [...among].some((route) => route.choice === choice);
  // The terms are read first: a new route by price must not begin without them.
  const refresh = async () => {
    const stored = await listRoutes(db);
    if (isUsed('price', stored)) terms = byOffer(await currentTerms(db));
    stored.forEach(warnOfNewerChoice);
    routes = new Map(stored.map((route) => [route.model, route]));
  };
  const learn = async () => {
    if (isUsed('time', routes.values())) times = byOffer(await deps.readTimes());
  };
  const routeOf = (model: string) => routes.get(model) ?? defaultRoute;
  const canServe = (request: GenerationRequest) => {
    return ({ connection, model_id: modelId }: RouteStep) => {
      const provider = providers.get(connection);
      return provider !== undefined && (provider.canServe?.(request, modelId) ?? true);
    };
  };
  const choiceDeps = (request: GenerationRequest) => {
    const keyOf = ({ connection }: RouteStep) => offerKey({ ...request, connection });
    return {
      canServe: canServe(request),
      costOf(step: RouteStep) {
        const found = terms.get(keyOf(step));
        return found && costBy(found, request);
      },
      secondsOf: (step: RouteStep) => times.get(keyOf(step))?.seconds,
      random,
    };
  };
  return {
    /** Reads the routes at once and then each second, until the signal aborts. */
    async follow(signal: AbortSignal) {
      await refresh();
      await learn();
      startInterval(FOLLOW_SECONDS, { name: 'following routes', log, signal }, refresh);
      startInterval(LEARN_SECONDS, { name: 'learning times of jobs', log, signal }, learn);
    },
    /** The connections that can make the video, in the order in which to try them. */
    connectionsFor(request: GenerationRequest): Chosen[] {
      const route = routeOf(request.model);
      const chosen = stepsFor(route, request, choiceDeps(request));
      return route.choice === 'time' ? explore(chosen, random) : chosen;
    },
    /** Their names in the order of the steps, without draws; a canary only if no other step can. */
    usualConnectionsFor(request: GenerationRequest): string[] {
      const inOrder: Route = { ...routeOf(request.model), choice: 'order' };
      const noCanary = { ...choiceDeps(request), random: () => 1 };
      const steps = stepsFor(inOrder, request, noCanary);
      return steps.map(({ connection }) => connection);
    },
    /**
     * The next connection for a task that none of `tried` accepted. Undefined if there is none, or
     * if the model has no route: the task then stays where it is, even if PROVIDER was changed.
     */
    next(request: GenerationRequest, tried: readonly string[]): Chosen | undefined {
      const { choice, steps } = routes.get(request.model) ?? UNROUTED;
      const regular = steps.filter(
        ({ connection, share }) => share === undefined && !tried.includes(connection),
      );
      return stepsFor({ choice, steps: regular }, request, choiceDeps(request))[0];
    },
    /** Whether a job of the model that failed is tried once at the next connection. */
    retriesFailed: (model: string): boolean => routes.get(model)?.retry_failed ?? false,
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

function byOffer<Row extends Offer>(rows: Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [offerKey(row), row]));
}
