import type { Queryable } from '../../database/database.ts';
import { Refusal } from '../../kernel/errors.ts';
import {
  type ListedOutage,
  listOutages,
  resetOutage,
} from '../../providers/circuit-breaker/outages.ts';
import {
  endPause,
  listPauses,
  type PauseSubject,
  pause,
} from '../../providers/circuit-breaker/pauses.ts';
import { PROVIDER_NAMES } from '../../providers/registry.ts';
import { TEST_PROVIDER } from '../../providers/test-provider.ts';
import { modelsThrough } from '../../routing/stored-routes.ts';
import { wakeWaiting } from '../../tasks/not-accepted.ts';
import { runningConnections } from '../../worker/live-workers.ts';
import { type ActionTarget, performAction } from '../actions.ts';
import { type RefusedSubmits, refusedSubmits, waitingTasks } from '../listings/submits.ts';
import { text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const OF_PROVIDER = {
  fields: { provider: text('The provider or connection.', { word: 'PROVIDER', max: 31 }) },
  positional: ['provider'],
} as const;

/** A connection for each provider, and those of CONNECTIONS that a running worker has. */
async function connectionNames(db: Queryable): Promise<string[]> {
  const running = await runningConnections(db);
  const others = running.filter((name) => name !== TEST_PROVIDER && !PROVIDER_NAMES.includes(name));
  return [...PROVIDER_NAMES, ...others];
}

/** All pauses, outages and connections, even those that only a pause or an outage names. */
async function readConnectionStates(db: Queryable) {
  const [names, pauses, outages] = await Promise.all([
    connectionNames(db),
    listPauses(db),
    listOutages(db),
  ]);
  const paused = pauses.map(({ subject }) => subject).filter((subject) => subject !== 'creates');
  const closed = outages.map(({ provider }) => provider);
  return { names: [...new Set([...names, ...paused, ...closed])], pauses, outages };
}

export async function knownConnections(db: Queryable): Promise<string[]> {
  return (await readConnectionStates(db)).names;
}

/**
 * @param field the field that names the connections
 * @param whyNot ends the message about an unknown connection
 * @throws Refusal about the first unknown one
 */
export function requireConnections(
  field: string,
  wanted: string[],
  known: string[],
  whyNot = (_name: string) => '',
): void {
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new Refusal(
    field,
    unknown,
    `must name ${known.join(', ')}, not ${unknown}${whyNot(unknown)}`,
  );
}

/** The target of a pause or resume, which records the pause or outage that it replaces. */
const pauseTarget = (target: PauseSubject): ActionTarget => ({
  target,
  before: async (tx) => {
    const paused = (await listPauses(tx)).find(({ subject }) => subject === target);
    return paused ?? (await listOutages(tx)).find(({ provider }) => provider === target);
  },
});

export const PROVIDERS = {
  'providers pause': verb({
    summary: 'Submit nothing to a provider: its tasks wait, creates for it get 503',
    ...OF_PROVIDER,
    reason: 'required',
    dialog: { title: 'Pause the provider', isDangerous: true },
    async run({ db }, { provider }, action) {
      requireConnections('provider', [provider], await knownConnections(db));
      return performAction(db, action, pauseTarget(provider), async (tx) => {
        const changed = await pause(tx, provider, action.reason ?? '');
        return { provider, state: 'paused', changed };
      });
    },
  }),
  'providers resume': verb({
    summary: 'End a pause, or the wait after an outage: waiting tasks are submitted at once',
    ...OF_PROVIDER,
    reason: 'optional',
    dialog: { title: 'Resume the provider' },
    async run({ db }, { provider }, action) {
      requireConnections('provider', [provider], await knownConnections(db));
      return performAction(db, action, pauseTarget(provider), async (tx) => {
        const wasPaused = await endPause(tx, provider);
        const wasClosed = await resetOutage(tx, provider);
        await wakeWaiting(tx, provider, await modelsThrough(tx, provider));
        return { provider, state: 'open', changed: wasPaused || wasClosed };
      });
    },
  }),
  'providers status': verb({
    summary: 'Show which providers take jobs, which are paused or closed, and why',
    fields: {},
    run: ({ db }) => listProviders(db),
  }),
};

export const CREATES = {
  'creates pause': verb({
    summary: 'Respond 503 to creates of all accounts and reserve nothing; tasks go on',
    fields: {},
    reason: 'required',
    dialog: { title: 'Pause creates', isDangerous: true },
    run: ({ db }, _, action) =>
      performAction(db, action, pauseTarget('creates'), async (tx) => {
        const changed = await pause(tx, 'creates', action.reason ?? '');
        return { creates: 'paused', changed };
      }),
  }),
  'creates resume': verb({
    summary: 'Accept creates again',
    fields: {},
    reason: 'optional',
    dialog: { title: 'Resume creates' },
    run: ({ db }, _, action) =>
      performAction(db, action, pauseTarget('creates'), async (tx) => {
        return { creates: 'open', changed: await endPause(tx, 'creates') };
      }),
  }),
  'creates status': verb({
    summary: 'Show whether creates are paused, since when and why',
    fields: {},
    run: ({ db }) => showCreates(db),
  }),
};

/**
 * `trying`: an outage's time is over, and one submit at a time tests the provider.
 * `refusing`: the provider rejects submits for a reason that the operator must fix.
 */
interface State {
  state: 'open' | 'refusing' | 'paused' | 'closed' | 'trying';
  since: Date | null;
  until: Date | null;
  /** The operator's reason, or the last failure or refusal. */
  reason: string | object | null;
}

export async function listProviders(db: Queryable) {
  const [{ names, pauses, outages }, waiting, refusals] = await Promise.all([
    readConnectionStates(db),
    waitingTasks(db),
    refusedSubmits(db),
  ]);
  return names.map((provider) => {
    const refused = refusals.find((row) => row.provider === provider);
    const pause = pauses.find(({ subject }) => subject === provider);
    const outage = outages.find((row) => row.provider === provider);
    return {
      provider,
      ...stateOf(pause, outage, refused),
      // Live tasks that it has not accepted yet.
      waiting_tasks: waiting.find((row) => row.provider === provider)?.tasks ?? 0,
      // Refused through no fault of the request: see refusedSubmits.
      refused_submits: refused?.submits ?? 0,
      last_refusal: refused?.cause ?? null,
    };
  });
}

/** Whether creates are paused. A create is also refused while its provider takes no jobs. */
export async function showCreates(db: Queryable) {
  const paused = (await listPauses(db)).find(({ subject }) => subject === 'creates');
  return {
    creates: paused ? ('paused' as const) : ('open' as const),
    since: paused?.paused_at ?? null,
    reason: paused?.reason ?? null,
  };
}

function stateOf(
  paused: { reason: string; paused_at: Date } | undefined,
  outage: ListedOutage | undefined,
  refused: RefusedSubmits | undefined,
): State {
  if (paused) {
    return { state: 'paused', since: paused.paused_at, until: null, reason: paused.reason };
  }
  if (outage?.closed_until) {
    const { closed_since: since, closed_until: until, cause: reason } = outage;
    return { state: outage.is_over ? 'trying' : 'closed', since, until, reason };
  }
  if (refused?.since) {
    return { state: 'refusing', since: refused.since, until: null, reason: refused.cause };
  }
  return { state: 'open', since: null, until: null, reason: null };
}
