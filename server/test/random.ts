/** A source of chance that gives the same numbers again for the same seed. */
export interface Random {
  /** A whole number from 0, below the limit. */
  below(limit: number): number;
  /** A whole number, both ends included. */
  whole(low: number, high: number): number;
  /** A fraction, spread evenly from `low` to `high`. */
  between(low: number, high: number): number;
  /** True with this probability, from 0 to 1. */
  chance(probability: number): boolean;
  /** @throws when there is nothing to pick from */
  pick<const T>(items: readonly T[]): T;
  /** A key of `weights`, as often as its weight says. */
  weighted<Key extends string>(weights: Record<Key, number>): Key;
  /** Another source; its numbers do not depend on how often this one is used from now on. */
  fork(): Random;
}

/** @param seed a whole number */
export function createRandom(seed: number): Random {
  const fraction = mulberry32(seed);
  const below = (limit: number) => Math.floor(fraction() * limit);
  const pick = <const T>(items: readonly T[]): T => {
    const [item] = items.slice(below(items.length));
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  };
  return {
    below,
    pick,
    whole: (low, high) => low + below(high - low + 1),
    between: (low, high) => low + fraction() * (high - low),
    chance: (probability) => fraction() < probability,
    weighted<Key extends string>(weights: Record<Key, number>) {
      const keys = Object.keys(weights) as Key[];
      let rest = fraction() * keys.reduce((sum, key) => sum + weights[key], 0);
      const drawn = keys.find((key) => {
        rest -= weights[key];
        return rest < 0;
      });
      return drawn ?? pick(keys);
    },
    fork: () => createRandom(below(2 ** 32)),
  };
}

/** The items in a random order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const ranked = items.map((item) => ({ item, rank: random.below(1e6) }));
  return ranked.sort((one, other) => one.rank - other.rank).map(({ item }) => item);
}

/**
 * Tommy Ettinger's mulberry32: fractions from 0, below 1. It has 32 bits of state, which is enough
 * for a test.
 */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
