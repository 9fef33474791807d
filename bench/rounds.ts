import type { Program } from './program.ts';
import { median, type Sample } from './sample.ts';

/** The service and its floor, measured in turns. */
export interface Comparison {
  service: Sample;
  floor: Sample;
  /** Of the rates of each round, since a disturbance of the machine affects both sides alike. */
  ratio: Spread;
  /** The same of the p99. */
  p99Ratio: Spread;
}

export interface Spread {
  median: number;
  lowest: number;
  highest: number;
}

type Load = Pick<Program<{ seconds: number }, Sample>, 'send'>;

export const ROUNDS = 7;
export const ROUND_SECONDS = 2.5;
/** Connections are opened, statements prepared and code compiled before the first round. */
const WARM_UP_SECONDS = 2;

/** Loads the service and its floor in turns, never both at once. */
export async function compare(
  service: Load,
  floor: Load,
  { count, seconds } = { count: ROUNDS, seconds: ROUND_SECONDS },
): Promise<Comparison> {
  await service.send({ seconds: WARM_UP_SECONDS });
  await floor.send({ seconds: WARM_UP_SECONDS });
  const rounds: Array<{ service: Sample; floor: Sample }> = [];
  while (rounds.length < count) {
    rounds.push({ service: await service.send({ seconds }), floor: await floor.send({ seconds }) });
  }
  return {
    service: middle(rounds.map((round) => round.service)),
    floor: middle(rounds.map((round) => round.floor)),
    ratio: spread(rounds.map((round) => round.service.perSecond / round.floor.perSecond)),
    p99Ratio: spread(
      rounds.map((round) => round.service.p99Milliseconds / round.floor.p99Milliseconds),
    ),
  };
}

export function spread(values: number[]): Spread {
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}

function middle(samples: Sample[]): Sample {
  return {
    perSecond: median(samples.map((sample) => sample.perSecond)),
    p50Milliseconds: median(samples.map((sample) => sample.p50Milliseconds)),
    p99Milliseconds: median(samples.map((sample) => sample.p99Milliseconds)),
  };
}
