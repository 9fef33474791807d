import type { Provider } from '../provider.ts';
import type { Closures } from './closures.ts';

/** Wraps a provider: the outcome of each submit tells whether the provider takes jobs. */
export function learning(provider: Provider, closures: Pick<Closures, 'observe'>): Provider {
  return {
    ...provider,
    async submit(jobSpec, mayStillSend) {
      const outcome = await provider.submit(jobSpec, mayStillSend);
      await closures.observe(provider.name, outcome, !mayStillSend());
      return outcome;
    },
  };
}
