import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { readIsoTime } from '../kernel/iso-time.ts';
import type { Action } from '../operator/actions.ts';

/** Which rows of a list a command prints. */
export interface ListPage {
  limit: number;
  /** The cursor of the last row of the page before; undefined: the first page. */
  after: string | undefined;
}

/** What a command gets: the words after its name, as many as its usage has, and its options. */
export interface Arguments {
  words: string[];
  options: Record<string, string | undefined>;
  /** For the record of what the command changes. */
  action: Action;
  page: ListPage;
  /** Prints a line at once, before the command's result; undefined with --json. */
  show?: ((line: string) => void) | undefined;
}

/** An operator command. It reads or changes the database. */
export interface Command {
  /** As typed after `framewright`, such as `keys create ACCOUNT [--name N]`. */
  usage: string;
  summary: string;
  options: readonly string[];
  /** Options without a value. */
  flags?: readonly string[];
  /**
   * Set for commands that change something: they take --reason and --by, and record what they
   * changed (operator/actions.ts).
   */
  reason?: 'required' | 'optional';
  /**
   * Set for lists: they take --limit and --after. Returns the value of --after with which the list
   * continues behind a row.
   */
  cursorOf?(row: object): string;
  /** Whether it brings the schema up to date. Other commands refuse an older schema. */
  migrates?: boolean;
  /** @returns what the command prints: one object, a list of objects, or a RowStream */
  run(db: Database, args: Arguments): Promise<unknown>;
}

/** @throws UsageError when the option is missing or empty */
export function requiredOption(options: Arguments['options'], name: string): string {
  const value = options[name]?.trim();
  if (!value) throw new UsageError(`--${name} is required`);
  return value;
}

/**
 * The time of an option; undefined without the option.
 * @throws UsageError when it is not an ISO 8601 time
 */
export function readTime(options: Arguments['options'], name: string): Date | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const time = readIsoTime(text);
  if (time) return time;
  throw new UsageError(
    `--${name} must be an ISO 8601 time, for example 2030-01-31T00:00:00Z; ` +
      'without a zone it is UTC',
  );
}
