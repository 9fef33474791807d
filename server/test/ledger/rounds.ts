import type { TestContext } from 'node:test';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { quiet } from '../database.ts';
import { LONG } from '../long.ts';
import { createRandom, type Random } from '../random.ts';
import { replayCommand } from '../replay.ts';

const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e9));
const ROUNDS = LONG ? 100 : 2;

/** Clients of the ledger, each with one connection. */
export function openClients(url: string, count: number): Database[] {
  const options = { url, connections: 1, log: quiet, statementSeconds: 30 };
  return Array.from({ length: count }, () => openDatabase(options));
}

/**
 * Runs a test in rounds, each with a seed of its own. A failure prints the command that runs its
 * round first. The seed repeats what is sent; the order of requests in a race is the machine's.
 */
export async function runRounds(t: TestContext, run: (random: Random) => Promise<void>) {
  for (let round = 0; round < ROUNDS; round += 1) {
    try {
      await run(createRandom(SEED + round));
    } catch (error) {
      const command = replayCommand(t.filePath ?? '', SEED + round);
      t.diagnostic(`this round again: ${command}`);
      throw error;
    }
  }
}
