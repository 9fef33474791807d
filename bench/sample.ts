/** The result of one round of load. */
export interface Sample {
  perSecond: number;
  p50Milliseconds: number;
  p99Milliseconds: number;
}

/** Runs clients for `seconds`, each of which acts again as soon as its previous act is over. */
export async function measure(
  load: { clients: number; seconds: number },
  act: (client: number) => Promise<void>,
): Promise<Sample> {
  const milliseconds: number[] = [];
  const start = performance.now();
  const end = start + load.seconds * 1000;
  const client = async (_: unknown, index: number) => {
    for (let begun = start; begun < end; ) {
      await act(index);
      const done = performance.now();
      milliseconds.push(done - begun);
      begun = done;
    }
  };
  await Promise.all(Array.from({ length: load.clients }, client));
  const elapsedSeconds = (performance.now() - start) / 1000;
  return summarize(milliseconds, elapsedSeconds);
}

/** Runs clients until they have acted so many times, all together. */
export async function actTimes(
  load: { clients: number; acts: number },
  act: (client: number) => Promise<void>,
): Promise<Sample> {
  const milliseconds: number[] = [];
  const start = performance.now();
  let begun = 0;
  const client = async (_: unknown, index: number) => {
    while (begun < load.acts) {
      begun += 1;
      const since = performance.now();
      await act(index);
      milliseconds.push(performance.now() - since);
    }
  };
  await Promise.all(Array.from({ length: load.clients }, client));
  return summarize(milliseconds, (performance.now() - start) / 1000);
}

/** The rate and the quantiles of acts that took these times, all within `elapsedSeconds`. */
function summarize(milliseconds: number[], elapsedSeconds: number): Sample {
  return {
    perSecond: milliseconds.length / elapsedSeconds,
    p50Milliseconds: quantile(milliseconds, 0.5),
    p99Milliseconds: quantile(milliseconds, 0.99),
  };
}

/** The smallest value that at least this share of the values does not exceed. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function median(values: number[]): number {
  return quantile(values, 0.5);
}
