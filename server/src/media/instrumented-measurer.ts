import { report, secondsSince } from '../telemetry/reports.ts';
import { inSpan } from '../telemetry/tracing.ts';
import type { Measurement, Measurer } from './measure.ts';

/**
 * Wraps a measurer: each decode is reported to the metrics and is a span of the trace, both with
 * its wait for a decoder.
 */
export function instrumentedMeasurer(measurer: Measurer): Measurer {
  return {
    ...measurer,
    measure: (...given) => inSpan({ name: `decode ${given[1]}` }, () => measured(...given)),
  };

  async function measured(...given: Parameters<Measurer['measure']>): Promise<Measurement> {
    const startedAt = performance.now();
    let outcome: Measurement['kind'] | 'error' = 'error';
    try {
      const measurement = await measurer.measure(...given);
      outcome = measurement.kind;
      return measurement;
    } finally {
      report('decode', { kind: given[1], outcome, seconds: secondsSince(startedAt) });
    }
  }
}
