import { mulberry32 } from '../mulberry32.ts';

/** A source of chance that gives the same numbers again for the same seed. */
export interface Random {
  chance(probability: number): boolean;
  /** Evenly from `low` to `high`. */
  between(low: number, high: number): number;
  /** A whole number, both ends included. */
  whole(low: number, high: number): number;
  /** @throws when there is nothing to pick from */
  pick<T>(items: readonly T[]): T;
  /** A key of `weights`, as often as its weight says. */
  weighted<Key extends string>(weights: Record<Key, number>): Key;
}

export function createRandom(seed: number): Random {
  const fraction = mulberry32(seed);
  const whole = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1));
  const pick = <T>(items: readonly T[]): T => {
    const [item] = items.slice(whole(0, items.length - 1));
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  };
  return {
    chance: (probability) => fraction() < probability,
    between: (low, high) => low + fraction() * (high - low),
    whole,
    pick,
    weighted<Key extends string>(weights: Record<Key, number>) {
      const keys = Object.keys(weights) as Key[];
      let rest = fraction() * keys.reduce((sum, key) => sum + weights[key], 0);
      const drawn = keys.find((key) => {
        rest -= weights[key];
        return rest < 0;
      });
      return drawn ?? pick(keys);
    },
  };
}
