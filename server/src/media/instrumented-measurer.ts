import { report, secondsSince } from '../telemetry/reports.ts';
import type { Measurement, Measurer } from './measure.ts';

/** Wraps a measurer: each decode is reported to the metrics, with its wait for a decoder. */
export function instrumentedMeasurer(measurer: Measurer): Measurer {
  return {
    async measure(path, expected, options) {
      const startedAt = performance.now();
      let outcome: Measurement['kind'] | 'error' = 'error';
      try {
        const measurement = await measurer.measure(path, expected, options);
        outcome = measurement.kind;
        return measurement;
      } finally {
        report('decode', { kind: expected, outcome, seconds: secondsSince(startedAt) });
      }
    },
  };
}
