import type { TestContext } from 'node:test';
import { mulberry32 } from './mulberry32.ts';
import { replayCommand } from './replay.ts';

/** Chance that a seed repeats: the same rolls in the same order. */
export interface Dice {
  /** A whole number from 0, below the limit. */
  below(limit: number): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<const T>(choices: readonly [T, ...T[]]): T;
  /** True this often, from 0 to 1. */
  chance(share: number): boolean;
  /** Other dice, whose rolls don't depend on how often these are rolled from now on. */
  fork(): Dice;
}

/** Dice from a whole number. */
export function createDice(seed: number): Dice {
  const fraction = mulberry32(seed);
  const below = (limit: number) => Math.floor(fraction() * limit);
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
    chance: (share) => fraction() < share,
    fork: () => createDice(below(2 ** 32)),
  };
}

const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e9));
const ROUNDS = Number(process.env.FRAMEWRIGHT_LEDGER_ROUNDS ?? 2);

/**
 * Plays rounds, each with dice of its own; a failure tells how to play its round first.
 * The seed repeats what is asked; who comes first in a race is the machine's to say.
 */
export async function playRounds(t: TestContext, play: (dice: Dice) => Promise<void>) {
  for (let round = 0; round < ROUNDS; round += 1) {
    try {
      await play(createDice(SEED + round));
    } catch (error) {
      const command = replayCommand(t.filePath ?? '', { FRAMEWRIGHT_SEED: SEED + round });
      t.diagnostic(`this round again: ${command}`);
      throw error;
    }
  }
}
