import { readCatalog } from '../../catalog/stored-models.ts';
import type { Queryable } from '../../database/database.ts';
import { Refusal } from '../../kernel/errors.ts';
import { neededVariables, PROVIDER_NAMES } from '../../providers/registry.ts';
import { TEST_PROVIDER } from '../../providers/test-provider.ts';
import { CHOICES } from '../../routing/route.ts';
import { formatSteps, parseSteps } from '../../routing/route-text.ts';
import { deleteRoute, listRoutes, saveRoute } from '../../routing/stored-routes.ts';
import { runningConnections, unservedTasks } from '../../worker/live-workers.ts';
import { performAction } from '../actions.ts';
import { choiceOf, type Field, optional, orNone, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';
import { listProviders, requireConnections } from './providers.ts';

type Steps = ReturnType<typeof parseSteps>;

const STEPS: Field<Steps> = {
  ...text(
    'Connections in order, such as "ark; fal-2 model=owner/name weight=2 modes=text-to-video".',
    {
      word: 'STEPS',
      max: 2000,
    },
  ),
  read(given, refuse) {
    if (typeof given !== 'string') return refuse('must be a text');
    return parseSteps(given, refuse);
  },
};

/** A connection that only its live tasks still name. */
const UNKNOWN = { state: null, reason: null, waiting_tasks: null };

export const CONNECTIONS = {
  'connections list': verb({
    summary: 'List the connections to providers, and the live tasks of those that no worker has',
    fields: {},
    run: async ({ db }) => {
      const [known, running, unserved] = await Promise.all([
        listProviders(db),
        runningConnections(db),
        unservedTasks(db, []),
      ]);
      const names = new Set([...known, ...unserved].map(({ provider }) => provider));
      return Array.from(names, (connection) => {
        const isSame = ({ provider }: { provider: string }) => provider === connection;
        const { state, reason, waiting_tasks } = known.find(isSame) ?? UNKNOWN;
        const shown = { connection, is_running: running.includes(connection), state, reason };
        return { ...shown, waiting_tasks, unserved_tasks: unserved.find(isSame)?.tasks ?? 0 };
      });
    },
  }),
};

export const ROUTES = {
  'routes list': verb({
    summary: 'List which connections take the tasks of each model',
    fields: {},
    run: ({ db }) => showRoutes(db),
  }),
  'routes set': verb({
    summary: 'Set which connections take new tasks of a model; none: the one that PROVIDER names',
    fields: {
      model: text('The model.', { word: 'MODEL', max: 63 }),
      steps: orNone(STEPS),
      choice: optional(
        choiceOf(
          'order: the first that takes jobs. weights: drawn for each task. price: the cheapest by ' +
            'your terms. time: the fastest of the last hour. Left out: as before.',
          CHOICES,
        ),
      ),
      retry_failed: optional(
        choiceOf(
          'on: a job that failed by the provider’s fault, certainly unbilled, is tried once at the next. Left out: as before.',
          ['on', 'off'],
        ),
      ),
    },
    positional: ['model', 'steps'],
    reason: 'required',
    dialog: { title: 'Set the route' },
    async run({ db }, { model, steps, choice: given, retry_failed: retry }, action) {
      await requireModel(db, model);
      const before = (await listRoutes(db)).find((route) => route.model === model);
      if (steps) await requireRunning(db, steps, before?.steps);
      const choice = given ?? before?.choice ?? 'order';
      const retryFailed = retry === undefined ? (before?.retry_failed ?? false) : retry === 'on';
      const details = { choice, retry_failed: retryFailed, steps: steps && formatSteps(steps) };
      const replaced = before && {
        choice: before.choice,
        retry_failed: before.retry_failed,
        steps: formatSteps(before.steps),
      };
      const changing = { target: model, details, before: async () => replaced };
      return performAction(db, action, changing, async (tx) => {
        const changed = steps
          ? await saveRoute(tx, { ...details, model, steps })
          : await deleteRoute(tx, model);
        return { model, ...details, changed };
      });
    },
  }),
};

/**
 * The routes with their steps as `routes set` takes them. `is_served`: a running worker has one of
 * the connections. Otherwise creates for the model get 400.
 */
export async function showRoutes(db: Queryable) {
  const [routes, running] = await Promise.all([listRoutes(db), runningConnections(db)]);
  return routes.map(({ steps, ...route }) => {
    const isServed = steps.some(({ connection }) => running.includes(connection));
    return { ...route, steps: formatSteps(steps), is_served: isServed };
  });
}

export async function requireModel(db: Queryable, model: string): Promise<void> {
  const names = (await readCatalog(db)).models.map(({ name }) => name);
  if (!names.includes(model))
    throw new Refusal('model', model, `must be one of ${names.join(', ')}`);
}

/**
 * Refuses connections that no running worker has, unless the route names them already: their
 * workers may only be down for the moment.
 */
async function requireRunning(db: Queryable, steps: Steps, before: Steps = []): Promise<void> {
  const running = (await runningConnections(db)).filter((name) => name !== TEST_PROVIDER);
  const names = running.length > 0 ? running : PROVIDER_NAMES;
  const known = [...new Set([...names, ...namesOf(before)])];
  requireConnections('steps', namesOf(steps), known, (name) => {
    const variable = neededVariables(name)[0]?.variable ?? 'CONNECTIONS';
    return `, which no running worker has: first set ${variable} and restart all processes`;
  });
}

function namesOf(steps: Steps): string[] {
  return steps.map(({ connection }) => connection);
}
