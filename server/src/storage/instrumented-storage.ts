import { report, secondsSince } from '../telemetry/reports.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { ObjectMissing, type Storage } from './storage.ts';

/**
 * Wraps a storage: each operation is reported to the metrics, and is a span of the trace; `open`
 * without its bytes.
 */
export function instrumentedStorage(storage: Storage): Storage {
  const observe = <Result>(operation: string, work: () => Promise<Result>) =>
    inSpan({ name: `storage ${operation}` }, () => observed(operation, work));
  const observed = async <Result>(operation: string, work: () => Promise<Result>) => {
    const startedAt = performance.now();
    let outcome: 'done' | 'missing' | 'error' = 'error';
    try {
      const result = await work();
      outcome = 'done';
      return result;
    } catch (error) {
      if (error instanceof ObjectMissing) outcome = 'missing';
      throw error;
    } finally {
      report('storage', { operation, outcome, seconds: secondsSince(startedAt) });
    }
  };
  return {
    ...storage,
    put: (...given) => observe('put', () => storage.put(...given)),
    open: (...given) => observe('open', () => storage.open(...given)),
    delete: (objectId) => observe('delete', () => storage.delete(objectId)),
  };
}
