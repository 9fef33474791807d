import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { longTest } from '../long.ts';
import { replayCommand } from '../replay.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openSimulatedServer } from './database.ts';
import { runHistory, type SimulatedHistory } from './history.ts';

// The real task machine, ledger and database, under a scheduler that decides by a seed which thread
// runs, what crashes, what gets lost and what time it is; see simulation/history.ts.

const seed = process.env.FRAMEWRIGHT_SEED;
const MINUTES = 10;
/** A few seconds of histories, the same ones each time, which contain each landmark. */
const SEEDS = [7, 23, 53, 54, 61, 70, 79, 85, 91, 108, 591, 1006];
/** How many failures are printed. */
const MAX_FAILURES = 5;

/** Events that the fixed histories must contain, or they prove less than they seem to. */
const LANDMARKS = [
  'task completed',
  'task failed not_accepted',
  'task failed provider_unavailable',
  'task held acceptance',
  'task held outcome',
  'key released',
  'both kinds completed',
  'both kinds failed',
  'attempt accepted by sender',
  'attempt accepted by find',
  'attempt accepted by callback',
  'attempt accepted by operator',
  'attempt absent by find',
  'attempt unknown by sender',
  'attempt replaced by sender',
  'observed bound',
  'observed refunded',
  'observed busy',
  'observed no_credits',
  'orphan unknown_there',
  'task failed cancelled',
  'task failed content_refused',
  'review allow',
  'review deny',
  'test task completed',
  'test task failed',
  'cancel done',
  'cancel done again',
  'cancel requested',
  'cancel requested again',
  'cancel submitting',
  'cancel archiving',
  'cancel held',
  'cancel ended',
  'video deleted',
  'refill',
  'task completed after 2 connections',
  'task held after 2 connections',
  'task failed after 2 connections',
];

function assertNoProblems({ failed }: Summary): void {
  assert.equal(failed.map(describeFailure).join('\n'), '');
}

test('no credit, task or promise is lost, whatever crashes, gets lost or comes late', {
  skip: seed !== undefined && 'FRAMEWRIGHT_SEED asks for another history',
}, async (t) => {
  const summary = await runHistories(SEEDS);
  t.diagnostic(describeSummary(summary));
  assertNoProblems(summary);
  const missed = LANDMARKS.filter((landmark) => summary.tally[landmark] === undefined);
  assert.deepEqual(missed, []);
});

longTest(`new histories for ${MINUTES} minutes`, async (t) => {
  const end = performance.now() + MINUTES * 60_000;
  const summary = await runHistories(freshSeeds(() => performance.now() < end));
  t.diagnostic(describeSummary(summary));
  t.diagnostic(JSON.stringify(summary.tally, null, 1));
  assertNoProblems({ ...summary, failed: summary.failed.slice(0, MAX_FAILURES) });
});

function* freshSeeds(wanted: () => boolean): Generator<number> {
  for (let next = Date.now() % 2 ** 31; wanted(); next += 1) yield next;
}

test('FRAMEWRIGHT_SEED: one history, unit by unit', {
  skip: seed === undefined && 'it is not set',
}, async (t) => {
  const trace: string[] = [];
  const summary = await runHistories([Number(seed)], (history) => trace.push(...history.trace));
  t.diagnostic(trace.join('\n'));
  assertNoProblems(summary);
});

test('a seed gives the same history again, unit by unit', {
  skip: seed !== undefined && 'FRAMEWRIGHT_SEED asks for another history',
}, async () => {
  const traces: string[] = [];
  await runHistories([2, 2], (history) => traces.push(history.trace.join('\n')));
  const [first, second] = traces;
  assert.equal(first, second);
});

/** Histories at a time, each in a database of its own: one runs while the other waits for Postgres. */
const RUNNERS = 2;

interface Summary {
  histories: number;
  turns: number;
  minutes: number;
  failed: SimulatedHistory[];
  tally: Record<string, number>;
}

/** Runs the histories of these seeds, two at a time; `onEnd` is called with each result. */
async function runHistories(
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
function describeSummary({ histories, turns, minutes }: Summary): string {
  const perMinute = Math.round(histories / minutes);
  return `${histories} histories, ${turns} turns, ${perMinute} histories a minute`;
}

/** The problems of a history, and the command that repeats it. */
function describeFailure({ seed, problems }: SimulatedHistory): string {
  return [commandFor(seed), ...problems].join('\n  ');
}

function commandFor(seed: number): string {
  return replayCommand(fileURLToPath(import.meta.url), seed);
}
