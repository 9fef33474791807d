import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';

/** What a command gets: the words after its name, as many as its usage has, and its options. */
export interface Arguments {
  words: string[];
  options: Record<string, string | undefined>;
}

/** An operator command. It reads or changes the database. */
export interface Command {
  /** As typed after `framewright`, such as `keys create ACCOUNT [--name N]`. */
  usage: string;
  summary: string;
  options: readonly string[];
  /** Options without a value. */
  flags?: readonly string[];
  /** @returns what the command prints: one object or a list of objects */
  run(db: Database, args: Arguments): Promise<unknown>;
}

/** @throws UsageError when the option is missing or empty */
export function requiredOption(options: Arguments['options'], name: string): string {
  const value = options[name]?.trim();
  if (!value) throw new UsageError(`--${name} is required`);
  return value;
}
