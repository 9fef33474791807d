import { type Reports, report, secondsSince } from '../telemetry/reports.ts';
import { inSpan } from '../telemetry/tracing.ts';
import {
  type CancelOutcome,
  type FindOutcome,
  type JobStatus,
  OutputGone,
  type Provider,
  type SubmitOutcome,
} from './provider.ts';

/**
 * Wraps a provider: each call is reported to the metrics when it has ended, and is a span of the
 * trace. A read of a job that is still working makes no span.
 */
export function instrumented(provider: Provider): Provider {
  const { name } = provider;
  const observe = <Result>(
    call: Reports['call']['call'],
    work: () => Promise<Result>,
    outcomeOf: (result: Result) => string,
  ): Promise<Result> => {
    const about = {
      name: `${name} ${call}`,
      kind: 'client',
      attributes: { provider: name },
    } as const;
    return inSpan(about, async (span) => {
      const startedAt = performance.now();
      let outcome = 'error';
      try {
        const result = await work();
        outcome = outcomeOf(result);
        return result;
      } catch (error) {
        if (error instanceof OutputGone) outcome = 'gone';
        throw error;
      } finally {
        report('call', { provider: name, call, outcome, seconds: secondsSince(startedAt) });
        span?.set({ outcome });
        if (outcome === 'working') span?.discard();
      }
    });
  };
  const { cancel } = provider;
  return {
    ...provider,
    ...(cancel && { cancel: (jobId) => observe('cancel', () => cancel(jobId), kindOf) }),
    submit: (...given) => observe('submit', () => provider.submit(...given), submitOutcome),
    read: (jobId) => observe('read', () => provider.read(jobId), kindOf),
    find: (attempt) => observe('find', () => provider.find(attempt), kindOf),
    openOutput: (output) =>
      observe(
        'open_output',
        () => provider.openOutput(output),
        () => 'opened',
      ),
  };
}

function submitOutcome(outcome: SubmitOutcome): string {
  return outcome.kind === 'rejected' ? `rejected_${outcome.fault}` : outcome.kind;
}

function kindOf(result: JobStatus | FindOutcome | CancelOutcome): string {
  return result.kind;
}
