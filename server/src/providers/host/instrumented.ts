import {
  type FindOutcome,
  type JobStatus,
  OutputGone,
  type Provider,
  type SubmitOutcome,
} from '../provider.ts';

/** One call of a provider, as it is counted. */
export interface ProviderCall {
  provider: string;
  call: 'submit' | 'read' | 'find' | 'open_output';
  seconds: number;
  /**
   * What came of it: `accepted`, `rejected_request`, `rejected_busy`, `rejected_operator`,
   * `not_sent`, `unknown`; a status's kind; `found`, `absent`, `ambiguous`; `opened`, `gone`. And
   * `error` when it threw.
   */
  outcome: string;
}

export interface Observer {
  called(call: ProviderCall): void;
}

/** The provider, each of whose calls is told to the observer once it is over. */
export function instrumented(provider: Provider, observer: Observer): Provider {
  const { name } = provider;
  const tell = async <Result>(
    call: ProviderCall['call'],
    work: () => Promise<Result>,
    outcomeOf: (result: Result) => string,
  ): Promise<Result> => {
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
      const seconds = (performance.now() - startedAt) / 1000;
      observer.called({ provider: name, call, seconds, outcome });
    }
  };
  return {
    ...provider,
    submit: (...given) => tell('submit', () => provider.submit(...given), submitOutcome),
    read: (jobId) => tell('read', () => provider.read(jobId), kindOf),
    find: (attempt) => tell('find', () => provider.find(attempt), kindOf),
    openOutput: (output) =>
      tell(
        'open_output',
        () => provider.openOutput(output),
        () => 'opened',
      ),
  };
}

function submitOutcome(outcome: SubmitOutcome): string {
  return outcome.kind === 'rejected' ? `rejected_${outcome.fault}` : outcome.kind;
}

function kindOf(result: JobStatus | FindOutcome): string {
  return result.kind;
}
