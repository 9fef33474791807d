import { type Database, query, statement } from '../../database/database.ts';
import { startInterval } from '../../kernel/interval.ts';
import type { Log } from '../../kernel/log.ts';
import type { Provider, SubmitOutcome } from '../provider.ts';
import {
  endProbe,
  enterProvider,
  recordFailure,
  recordSuccess,
  secondsUntilTrial,
} from './outages.ts';

/**
 * Whether a task may be submitted now. `end` must be called when an admitted submit has ended.
 * `seconds`: about how long until a refused task may be admitted.
 */
export type Entry =
  | { kind: 'admitted'; end(): Promise<void> }
  | { kind: 'refused'; by: 'operator' | 'outage'; seconds: number };

const FOLLOW_SECONDS = 1;

const REFUSING = statement(
  'providers_refusing',
  'select provider from provider_outages union select subject from pauses',
);

export type ProviderBreaker = ReturnType<typeof createProviderBreaker>;

/**
 * Which providers take no jobs now, in all processes (decisions/0016): an operator paused them, or
 * their submits fail. Operators call such a provider closed; the trade calls its breaker open.
 */
export function createProviderBreaker({ db, log }: { db: Database; log: Log }) {
  // Providers that are paused or had a recent failure. Submits to all others need no query.
  let refusing = new Set<string>();
  const refresh = async () => {
    const rows = await db.query<{ provider: string }>(REFUSING);
    refusing = new Set(rows.map(({ provider }) => provider));
  };
  const end = async (provider: string, probe: string) => {
    await endProbe(db, provider, probe).catch((error: Error) => {
      log.warn({ provider, err: error.message }, 'could not record the end of a probe');
    });
  };
  const learn = async (provider: string, outcome: SubmitOutcome, isLate: boolean) => {
    const meaning = meaningOf(outcome, isLate);
    if (meaning === 'fails') {
      refusing.add(provider);
      const seconds = await recordFailure(db, provider, outcome);
      if (seconds === undefined) return;
      const about = { provider, seconds, cause: 'cause' in outcome ? outcome.cause : undefined };
      log.warn(about, 'closed after failures: tasks wait, and creates for this provider get 503');
    } else if (meaning === 'works' && refusing.has(provider)) {
      if (await recordSuccess(db, provider)) log.info({ provider }, 'open again');
    }
  };
  return {
    /** Reads the state at once and then each second, until the signal aborts. */
    async follow(signal: AbortSignal) {
      await refresh();
      startInterval(FOLLOW_SECONDS, { name: 'following closed providers', log, signal }, refresh);
    },
    async enter(provider: string): Promise<Entry> {
      const admitted = { kind: 'admitted', end: async () => {} } as const;
      if (!refusing.has(provider)) return admitted;
      const { probe, ...closures } = await enterProvider(db, provider);
      if (probe !== null) return { kind: 'admitted', end: () => end(provider, probe) };
      const seconds = secondsUntilTrial(closures);
      if (seconds === 0) return admitted;
      return { kind: 'refused', by: closures.paused ? 'operator' : 'outage', seconds };
    },
    /**
     * Learns from the outcome of a submit. A failure of the database is logged, not thrown.
     * @param isLate whether the time to send was over before the submit began
     */
    async observe(provider: string, outcome: SubmitOutcome, isLate: boolean) {
      await learn(provider, outcome, isLate).catch((error: Error) => {
        log.warn({ provider, err: error.message }, 'could not count the outcome of a submit');
      });
    },
  };
}

/**
 * A refusal of the request, or for a reason that the operator must fix, shows that the provider
 * responds. A submit that was late before it began says nothing about the provider.
 */
function meaningOf(outcome: SubmitOutcome, isLate: boolean): 'works' | 'fails' | undefined {
  if (outcome.kind === 'accepted') return 'works';
  if (outcome.kind === 'rejected') return outcome.fault === 'busy' ? 'fails' : 'works';
  return outcome.kind === 'not_sent' && isLate ? undefined : 'fails';
}

export function reportingOutcomes(
  provider: Provider,
  breaker: Pick<ProviderBreaker, 'observe'>,
): Provider {
  return {
    ...provider,
    async submit(jobSpec, mayStillSend) {
      // Asked before the submit, which itself uses up the time to send if the host drops packets.
      const isLate = !mayStillSend();
      const outcome = await provider.submit(jobSpec, mayStillSend);
      await breaker.observe(provider.name, outcome, isLate);
      return outcome;
    },
  };
}

// An outage whose `closed_until` passed over a minute ago is left out: no task has probed it since,
// and it may have ended.
/** Everything that an outage has closed or an operator has paused. */
export const closedSubjects = query<[], { subject: string; cause: string; seconds: number }>(
  'figures_closed',
  `select provider as subject, 'outage' as cause,
     extract(epoch from clock_now() - closed_since)::float8 as seconds
   from provider_outages where closed_until > clock_now() - interval '1 minute'
   union all
   select subject, 'operator', extract(epoch from clock_now() - paused_at)::float8 from pauses`,
);
