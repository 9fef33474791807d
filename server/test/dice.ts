import type { TestContext } from 'node:test';

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

/** Dice from a whole number (mulberry32: 32 bits of state, plenty for a test). */
export function createDice(seed: number): Dice {
  let state = seed | 0;
  const bits = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number) => Math.floor((bits() / 2 ** 32) * limit);
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
    chance: (share) => bits() / 2 ** 32 < share,
    fork: () => createDice(bits()),
  };
}

const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e9));
const ROUNDS = Number(process.env.FRAMEWRIGHT_LEDGER_ROUNDS ?? 2);

/**
 * Plays rounds, each with dice of its own; a failure tells the seed that makes its round the first.
 * The seed repeats what is asked; who comes first in a race is the machine's to say.
 */
export async function playRounds(t: TestContext, play: (dice: Dice) => Promise<void>) {
  for (let round = 0; round < ROUNDS; round += 1) {
    try {
      await play(createDice(SEED + round));
    } catch (error) {
      t.diagnostic(`FRAMEWRIGHT_SEED=${SEED + round} plays this round again`);
      throw error;
    }
  }
}
