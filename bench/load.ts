/** For how long clients act, or how often all together. */
export type Load = { seconds: number } | { acts: number };

export interface Quantiles {
  p50Milliseconds: number;
  p99Milliseconds: number;
}

/** The result of one round of load. */
export interface Sample extends Quantiles {
  perSecond: number;
}

/** Runs clients, each of which acts again as soon as its previous act is over. */
export async function runClients(
  clients: number,
  load: Load,
  act: (client: number) => Promise<void>,
): Promise<Sample> {
  const milliseconds: number[] = [];
  const start = performance.now();
  let begun = 0;
  const isOver =
    'acts' in load ? () => begun >= load.acts : (now: number) => now >= start + load.seconds * 1000;
  const client = async (_: unknown, index: number) => {
    for (let since = start; !isOver(since); ) {
      begun += 1;
      await act(index);
      const done = performance.now();
      milliseconds.push(done - since);
      since = done;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const elapsedSeconds = (performance.now() - start) / 1000;
  return { perSecond: milliseconds.length / elapsedSeconds, ...quantilesOf(milliseconds) };
}

export function quantilesOf(milliseconds: number[]): Quantiles {
  return {
    p50Milliseconds: quantile(milliseconds, 0.5),
    p99Milliseconds: quantile(milliseconds, 0.99),
  };
}

/** The smallest value that at least this share of the values does not exceed. */
function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function median(values: number[]): number {
  return quantile(values, 0.5);
}

export interface Spread {
  median: number;
  lowest: number;
  highest: number;
}

export function spread(values: number[]): Spread {
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}

/** The service and its floor, measured in turns. */
export interface Comparison {
  service: Sample;
  floor: Sample;
  /** The ratio of each round's rates: a disturbance of the machine affects both sides alike. */
  ratio: Spread;
  /** The ratio of each round's p99. */
  p99Ratio: Spread;
}

interface Side {
  send(load: { seconds: number }): Promise<Sample>;
}

export const ROUNDS = 7;
export const ROUND_SECONDS = 2.5;
/** Connections are opened, statements prepared and code compiled before the first round. */
const WARM_UP_SECONDS = 2;

/** Loads the service and its floor in turns, never both at once. */
export async function compare(
  service: Side,
  floor: Side,
  { count, seconds } = { count: ROUNDS, seconds: ROUND_SECONDS },
): Promise<Comparison> {
  await service.send({ seconds: WARM_UP_SECONDS });
  await floor.send({ seconds: WARM_UP_SECONDS });
  const rounds: Array<{ service: Sample; floor: Sample }> = [];
  while (rounds.length < count) {
    rounds.push({ service: await service.send({ seconds }), floor: await floor.send({ seconds }) });
  }
  const middle = (side: 'service' | 'floor') => ({
    perSecond: median(rounds.map((round) => round[side].perSecond)),
    p50Milliseconds: median(rounds.map((round) => round[side].p50Milliseconds)),
    p99Milliseconds: median(rounds.map((round) => round[side].p99Milliseconds)),
  });
  const ratioOf = (figure: keyof Sample) =>
    spread(rounds.map(({ service, floor }) => service[figure] / floor[figure]));
  return {
    service: middle('service'),
    floor: middle('floor'),
    ratio: ratioOf('perSecond'),
    p99Ratio: ratioOf('p99Milliseconds'),
  };
}
