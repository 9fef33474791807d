import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { evictOldest } from '../kernel/evict-oldest.ts';
import type { Measurement, Measurer } from '../media/measure.ts';

/** How many results are cached. */
const MAX_RESULTS = 100;

const wrappers = new WeakMap<Measurer, Measurer>();

/**
 * Wraps a measurer in a cache, for small files that repeat: results are keyed by the hash of the
 * bytes and the options.
 */
export function cachingMeasurer(measurer: Measurer): Measurer {
  const known = wrappers.get(measurer);
  if (known) return known;
  const wrapped = withCache(measurer);
  wrappers.set(measurer, wrapped);
  return wrapped;
}

function withCache(measurer: Measurer): Measurer {
  const measured = new Map<string, Measurement>();
  return {
    async measure(file, expected, options = {}) {
      const hash = createHash('sha256').update(await readFile(file));
      const { rules, frames, posterSide } = options;
      const asked = JSON.stringify([expected, rules, frames, posterSide]);
      const name = `${asked} ${hash.digest('hex')}`;
      const before = measured.get(name);
      if (before) return before;
      const measurement = await measurer.measure(file, expected, options);
      evictOldest(measured, MAX_RESULTS);
      measured.set(name, measurement);
      return measurement;
    },
  };
}
