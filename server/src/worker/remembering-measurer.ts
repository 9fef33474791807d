import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { forgetOldest } from '../kernel/forget-oldest.ts';
import type { Measurement, Measurer } from '../media/measure.ts';

/** How many files are remembered. */
const MAX_FILES = 100;

const remembering = new WeakMap<Measurer, Measurer>();

/**
 * Wraps a measurer for small files of which many are the same: a file is decoded once, and then
 * known by the hash of its bytes and by what was asked.
 */
export function rememberingMeasurer(measurer: Measurer): Measurer {
  const known = remembering.get(measurer);
  if (known) return known;
  const wrapped = remembered(measurer);
  remembering.set(measurer, wrapped);
  return wrapped;
}

function remembered(measurer: Measurer): Measurer {
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
      forgetOldest(measured, MAX_FILES);
      measured.set(name, measurement);
      return measurement;
    },
  };
}
