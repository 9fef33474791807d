import type { Provider } from './provider.ts';

/** An adapter's provider, and what the calling code adds to it. */
export interface HostedProvider extends Provider {
  /**
   * The operator's policy for weak absence, see `attempts/find-job.ts`. undefined: weak
   * absence never ends a task.
   */
  readonly assumeAbsentAfterHours?: number | undefined;
  /**
   * How many reads could begin within the next second by the rate budget. Left out without a
   * budget.
   */
  nearReads?(): Promise<number>;
}
