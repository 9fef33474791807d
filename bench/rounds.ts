import type { Program } from './program.ts';
import { median, type Sample } from './sample.ts';

/** The service and its floor, measured in turns. */
export interface Comparison {
  service: Sample;
  floor: Sample;
  /** Of the rates of each round, since a disturbance of the machine affects both sides alike. */
  ratio: { median: number; lowest: number; highest: number };
}

type Load = Program<{ seconds: number }, Sample>;

export const ROUNDS = 7;
export const ROUND_SECONDS = 2.5;
/** Connections are opened, statements prepared and code compiled before the first round. */
const WARM_UP_SECONDS = 2;

/** Loads the service and its floor in turns, never both at once. */
export async function compare(service: Load, floor: Load): Promise<Comparison> {
  await service.send({ seconds: WARM_UP_SECONDS });
  await floor.send({ seconds: WARM_UP_SECONDS });
  const rounds: Array<{ service: Sample; floor: Sample }> = [];
  while (rounds.length < ROUNDS) {
    const seconds = ROUND_SECONDS;
    rounds.push({ service: await service.send({ seconds }), floor: await floor.send({ seconds }) });
  }
  const ratios = rounds.map((round) => round.service.perSecond / round.floor.perSecond);
  return {
    service: middle(rounds.map((round) => round.service)),
    floor: middle(rounds.map((round) => round.floor)),
    ratio: { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) },
  };
}

function middle(samples: Sample[]): Sample {
  return {
    perSecond: median(samples.map((sample) => sample.perSecond)),
    p50Milliseconds: median(samples.map((sample) => sample.p50Milliseconds)),
    p99Milliseconds: median(samples.map((sample) => sample.p99Milliseconds)),
  };
}
