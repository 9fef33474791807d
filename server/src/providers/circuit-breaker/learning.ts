import type { Provider } from '../provider.ts';
import type { Closures } from './closures.ts';

/** Wraps a provider: the outcome of each submit tells whether the provider takes jobs. */
export function learning(provider: Provider, closures: Pick<Closures, 'observe'>): Provider {
  return {
    ...provider,
    async submit(jobSpec, mayStillSend) {
      // Asked before the submit: if the host drops packets, it takes longer than the time to send.
      const isLate = !mayStillSend();
      const outcome = await provider.submit(jobSpec, mayStillSend);
      await closures.observe(provider.name, outcome, isLate);
      return outcome;
    },
  };
}
