import { fileURLToPath } from 'node:url';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { replayCommand } from '../replay.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openSimulatedServer } from './database.ts';
import { runHistory, type SimulatedHistory } from './history.ts';

/** Histories at a time, each in a database of its own: one runs while the other waits for Postgres. */
const RUNNERS = 2;

export interface Summary {
  histories: number;
  turns: number;
  minutes: number;
  failed: SimulatedHistory[];
  tally: Record<string, number>;
}

/** Runs the histories of these seeds, two at a time; `onEnd` is called with each result. */
export async function runHistories(
  seeds: Iterable<number>,
  onEnd: (history: SimulatedHistory) => void = () => {},
): Promise<Summary> {
  await using folder = await temporaryFolder();
  const scratch = openScratchDirectory(folder.path);
  const summary: Summary = { histories: 0, turns: 0, minutes: 0, failed: [], tally: {} };
  const rest = seeds[Symbol.iterator]();
  const startedAtMs = performance.now();
  const runners = Array.from({ length: RUNNERS }, async () => {
    const server = await openSimulatedServer();
    try {
      for (let next = rest.next(); !next.done; next = rest.next()) {
        const history = await runHistory(server, scratch, next.value).catch((cause: unknown) => {
          throw new Error(commandFor(next.value), { cause });
        });
        include(summary, history);
        onEnd(history);
      }
    } finally {
      await server.close();
    }
  });
  await Promise.all(runners);
  summary.minutes = (performance.now() - startedAtMs) / 60_000;
  return summary;
}

function include(summary: Summary, history: SimulatedHistory): void {
  summary.histories += 1;
  summary.turns += history.turns;
  if (history.problems.length > 0) summary.failed.push(history);
  for (const [what, times] of Object.entries(history.tally)) {
    summary.tally[what] = (summary.tally[what] ?? 0) + times;
  }
}

/** One line about a run of histories. */
export function describeSummary({ histories, turns, minutes }: Summary): string {
  const perMinute = Math.round(histories / minutes);
  return `${histories} histories, ${turns} turns, ${perMinute} histories a minute`;
}

/** The problems of a history, and the command that repeats it. */
export function describeFailure({ seed, problems }: SimulatedHistory): string {
  return [commandFor(seed), ...problems].join('\n  ');
}

function commandFor(seed: number): string {
  const file = fileURLToPath(new URL('./simulation.test.ts', import.meta.url));
  return replayCommand(file, seed);
}
