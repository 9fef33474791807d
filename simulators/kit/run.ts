import { readOptions, type SimulatorOptions } from './options.ts';
import type { BaseJob } from './record.ts';
import { serveSimulation } from './server.ts';
import type { Simulation } from './simulation.ts';

/**
 * The main program of a simulator: reads the command line, prints one line with its address and
 * serves until a signal (or the end of standard input, if asked) ends it.
 */
export async function runSimulator<Job extends BaseJob>(
  name: string,
  simulate: (options: SimulatorOptions) => Simulation<Job>,
): Promise<void> {
  const options = readOptions(name);
  const running = await serveSimulation(simulate(options), options);
  console.log(`${name} simulator listens at ${running.url}`);
  const end = () => void running.close().then(() => process.exit(0));
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  if (options.untilStdinEnds) process.stdin.resume().once('end', end);
}
